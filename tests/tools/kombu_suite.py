"""kombu's own tests of transports, ``t/integration/common.py``, with ``backout://``.

    manage.py with_servers python -m tests.tools.kombu_suite SOURCE

SOURCE is the unpacked source package of kombu. Each transport gives these classes its
connections; this module gives them ours. The tests need ``pytest-timeout``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import django
import kombu
import pytest
from django.core.management import call_command
from django.db import connection as database

django.setup()

OPTIONS = (
    *("-o", "python_files=common.py", "-o", "python_classes=Bas*"),
    *("-p", "no:django", "-p", "no:randomly", "-p", "no:asyncio"),
    *("-p", "no:cacheprovider", "-rs", "--tb=short", "--timeout=60"),
)


@pytest.fixture
def connection(request: pytest.FixtureRequest) -> kombu.Connection:
    if request.cls.__name__ == "BaseFailover":
        pytest.skip("backout:// names no host, so there is no other one")
    return kombu.Connection("backout://")


@pytest.fixture
def failover_connection(connection: kombu.Connection) -> kombu.Connection:
    return connection


@pytest.fixture
def invalid_connection(connection: kombu.Connection) -> Iterator[kombu.Connection]:
    """A connection while the database cannot be reached."""
    host = database.settings_dict["HOST"]
    database.close()
    database.settings_dict["HOST"] = "/nowhere"
    yield connection
    database.settings_dict["HOST"] = host


def main(source: Path) -> int:
    call_command("migrate", verbosity=0)
    common = source / "t/integration/common.py"
    return pytest.main(
        [str(common), "-c", str(source / "setup.cfg"), *OPTIONS],
        plugins=[sys.modules[__name__]],
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
