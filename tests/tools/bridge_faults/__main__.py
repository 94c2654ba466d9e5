"""Strikes links at drawn points, and tells what was lost and what came twice."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

from django.db import connection  # noqa: E402  # needs the settings

from broker import owner  # noqa: E402
from tests.broker.elsewhere import process  # noqa: E402
from tests.tools.bridge_faults import peers, strikes  # noqa: E402


@contextmanager
def own_database() -> Iterator[None]:
    """An empty one, beside that which is configured."""
    configured = connection.settings_dict["NAME"]
    connection.settings_dict["TEST"]["NAME"] = f"{configured}_faults"
    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        yield
    finally:
        owner.resign()
        connection.creation.destroy_test_db(configured, verbosity=0)


def main() -> int:
    parser = ArgumentParser(prog="bridge_faults", description=__doc__)
    parser.add_argument("--links", nargs="+", default=list(peers.PAIRS))
    parser.add_argument("--messages", type=int, default=100_000, help="in all")
    parser.add_argument("--kills", type=int, default=100, help="and cuts, in all")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--batch", type=int, default=50)
    options = parser.parse_args()
    random = Random(options.seed)
    each = options.messages // len(options.links)
    kills = -(-options.kills // len(options.links))
    is_good = True
    with tempfile.TemporaryDirectory() as folder:
        for name in options.links:
            with own_database(), ExitStack() as stack:
                pair = peers.PAIRS[name](stack, Path(folder), options.batch)
                pair.total = each
                pair.put(0, each)
                server = stack.enter_context(process(strikes.SCRIPT))
                began = time.monotonic()
                found = strikes.strike(pair, strikes.Struck(server), random, kills)
                strikes.count(pair, found)
                print(
                    f"{name}: {found} in {time.monotonic() - began:.0f} s", flush=True
                )
                is_good &= not found.lost and (pair.may_double or not found.doubled)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
