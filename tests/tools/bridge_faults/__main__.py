"""Strikes links at drawn points, and tells what was lost, doubled, or changed.

Without kills it holds what each link carries to the table of docs/bridges.md.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from argparse import ArgumentParser
from contextlib import ExitStack
from pathlib import Path
from random import Random

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()

from broker.monitoring import fsck  # noqa: E402  # needs the settings
from tests.broker import crashing as databases  # noqa: E402
from tests.conftest import empty_the_broker  # noqa: E402
from tests.tools.bridge_faults import peers, report, strikes  # noqa: E402
from tests.tools.bridge_faults.pairs import Pair, Victim  # noqa: E402


def main() -> int:
    parser = ArgumentParser(prog="bridge_faults", description=__doc__)
    parser.add_argument("--links", nargs="+", default=list(peers.PAIRS))
    parser.add_argument("--messages", type=int, default=100_000, help="in all")
    parser.add_argument("--kills", type=int, default=100, help="and cuts, in all")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--batch", type=int, default=50)
    parser.add_argument("--write", action="store_true", help="to benchmarks.md")
    options = parser.parse_args()
    random = Random(options.seed)
    each = options.messages // len(options.links)
    kills = -(-options.kills // len(options.links))
    all_found: dict[str, tuple[Pair, strikes.Found]] = {}
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        with databases.server(folder / "database") as database:
            os.environ["DATABASE_URL"] = database.url
            for name in options.links:
                with ExitStack() as stack:
                    pair = peers.PAIRS[name](stack, folder, options.batch)
                    pair.total, pair.all_durable = each, kills > 0
                    found = struck_and_counted(pair, database, random, kills)
                    empty_the_broker()
                all_found[name] = pair, found
    if options.write:
        report.write(all_found, seed=options.seed)
    return 0 if all(is_as_said(*one) for one in all_found.values()) else 1


def struck_and_counted(
    pair: Pair, database: databases.Server, random: Random, kills: int
) -> strikes.Found:
    pair.victims = {**pair.victims, "database": Victim(database.pid, database.revive)}
    pair.put(0, pair.total)
    began = time.monotonic()
    with strikes.struck() as struck:
        found = strikes.strike(pair, struck, random, kills)
    took = time.monotonic() - began
    strikes.count(pair, found)
    found.wrong += [one.sentence for one in fsck.violations()]
    print(f"{pair.name}: {found} in {took:.0f} s", flush=True)
    return found


def is_as_said(pair: Pair, found: strikes.Found) -> bool:
    never = found.lost or found.out_of_order or found.changed or found.wrong
    return not never and (pair.may_double or not found.doubled)


if __name__ == "__main__":
    sys.exit(main())
