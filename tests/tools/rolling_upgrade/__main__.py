"""Runs the old version, rolls the new one in, and counts at the end."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

import django
import psycopg

django.setup()

from tests.tools.rolling_upgrade import installation  # noqa: E402
from tests.tools.rolling_upgrade.installation import Installation, Program  # noqa: E402
from tests.tools.rolling_upgrade.under_load import UnderLoad  # noqa: E402

OLD = "71a2b67e"  # has broker.0001 only
NAME = "rolling_upgrade"
PROGRAMS = (
    *("web", "listener", "deadlines", "worker", "beat", "dispatcher", "dispatcher"),
)
CLIENTS = {"rest": 2, "amqp": 2, "database": 2}


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--old", default=OLD, help="commit of the old version")
    parser.add_argument("--steady", type=float, default=8.0, help="seconds of a phase")
    parser.add_argument("--rate", type=float, default=50.0, help="of each client")
    parser.add_argument("--messages", type=int, default=200_000, help="that lie there")
    options = parser.parse_args()
    server = os.environ["DATABASE_URL"]
    url = urlsplit(server)._replace(path=f"/{NAME}").geturl()
    with psycopg.connect(server, autocommit=True) as line:
        line.execute(f"DROP DATABASE IF EXISTS {NAME} WITH (FORCE)")
        line.execute(f"CREATE DATABASE {NAME}")
    with TemporaryDirectory() as made:
        folder = Path(made)
        site = UnderLoad(folder, url, CLIENTS, options.rate)
        old = installation.of_commit(options.old, folder / "old")
        new = installation.of_wheel(folder / "new")
        try:
            site.prepare(old, options.messages)
            upgrade(site, old, new, options.steady)
            counted = site.drain()
        finally:
            site.end_all()
        fsck = new.run("manage.py", "broker_fsck", log=site.log("fsck"))
        return int(not site.tell(counted, fsck))


def upgrade(
    site: UnderLoad, old: Installation, new: Installation, steady_s: float
) -> None:
    for name in PROGRAMS:
        site.start(old, name, 0)
    site.load(old, CLIENTS)
    site.phase("old version", lambda: None, steady_s)
    migrate = partial(new.run, "manage.py", "migrate", "--no-input", "-v0")
    site.phase("migrate", partial(migrate, log=site.log("migrate")), steady_s)
    for one in list(site.running):
        site.phase(f"new {one.name}", partial(replace, site, one, new), steady_s)
    site.phase("new clients", partial(reload, site, new), steady_s)
    site.end_load(CLIENTS)


def replace(site: UnderLoad, old: Program, new: Installation) -> None:
    """The new one first, but for ``beat``, of which there is one."""
    if old.name == "beat":
        site.end(old)
    site.start(new, old.name, 1)
    if old.name != "beat":
        site.end(old)


def reload(site: UnderLoad, new: Installation) -> None:
    """Those that put in the database have the new code, too."""
    site.end_load(["database"])
    site.load(new, ["database"])


if __name__ == "__main__":
    sys.exit(main())
