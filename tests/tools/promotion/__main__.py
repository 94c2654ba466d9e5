"""Runs the programs on two servers, kills one, and counts at the end."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import django

django.setup()

from tests.installed import TREE  # noqa: E402
from tests.tools.promotion.servers import HOST, USER, Node, pair, promoted  # noqa: E402
from tests.tools.rolling_upgrade.installation import Installation, until  # noqa: E402
from tests.tools.rolling_upgrade.under_load import Counted, UnderLoad, free_ports  # noqa: E402

DEBIAN = Path("/usr/lib/postgresql/15/bin")
PROGRAMS = ("web", "listener", "dispatcher", "dispatcher")
CLIENTS = {"rest": 2, "amqp": 2, "database": 2}


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument(
        "--bin", type=Path, default=DEBIAN, help="PostgreSQL's programs"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="before and after")
    parser.add_argument("--rate", type=float, default=50.0, help="of each client")
    parser.add_argument("--asynchronous", action="store_true")
    options = parser.parse_args()
    with TemporaryDirectory() as made:
        folder = Path(made)
        folder.chmod(0o755)
        (folder / "servers").mkdir()
        ports = free_ports(2)
        primary, replica = pair(
            options.bin, folder / "servers", ports, waits=not options.asynchronous
        )
        hosts = ",".join(f"{HOST}:{one}" for one in ports)
        url = (
            f"postgresql://{USER}@{hosts}/backout"
            "?target_session_attrs=read-write&connect_timeout=3"
        )
        site = UnderLoad(folder, url, CLIENTS, options.rate)
        fail = partial(fail_over, site, primary, replica)
        try:
            counted, fsck = run(site, fail, options.seconds)
        finally:
            site.end_all()
            replica.stop()
        return int(not site.tell(counted, fsck))


def run(
    site: UnderLoad, fail: Callable[[], None], seconds: float
) -> tuple[Counted, str]:
    """What was counted, and what ``broker_fsck`` says."""
    procfile = (TREE / "Procfile").read_text()
    here = Installation("here", Path(sys.executable), [TREE], procfile)
    site.prepare(here)
    for name in PROGRAMS:
        site.start(here, name, 0)
    site.load(here, CLIENTS)
    site.phase("primary", lambda: None, seconds)
    site.phase("promotion", fail, seconds)
    site.end_load(CLIENTS)
    counted = site.drain()
    ended = [one.name for one in site.running if one.process.poll() is not None]
    print("programs that ended by themselves:", *ended or ["none"])
    return counted, here.run("manage.py", "broker_fsck", log=site.log("fsck"))


def fail_over(site: UnderLoad, primary: Node, replica: Node) -> None:
    """Until messages are handled again."""
    began = time.monotonic()
    print(f"promoted after {promoted(primary, replica):.1f} s")
    before = site.counted().handled
    until(lambda: site.counted().handled > before)
    print(f"messages are handled after {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
