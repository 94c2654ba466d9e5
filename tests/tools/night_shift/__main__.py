"""Buries the messages, works through the night twice, and counts at the end."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.amqp.apart import own_database
from tests.console.operator import console, make_omar
from tests.tools.night_shift import failing, shift
from tests.tools.night_shift.failing import Consumer
from tests.tools.night_shift.hands import Keyboard, Mouse
from tests.tools.night_shift.shift import Shift

MOST_INTERACTIONS, MOST_SECONDS = 12, 90.0


def main() -> int:
    parser = ArgumentParser(prog="tests.tools.night_shift", description=__doc__)
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--causes", type=int, default=30)
    given = parser.parse_args()
    with own_database("night_shift"):
        make_omar()
        for dead in failing.bury(given.messages, given.causes):
            print(f"\r{dead:,} dead letters", end="", file=sys.stderr, flush=True)
        first, count = 0, failing.largest(given.messages)
        is_well = True
        for way in (Mouse, Keyboard):
            done, faults = night(way, range(first, first + count))
            faults += failing.faults(given.messages - count)
            is_well &= tell(done, way.__name__, faults)
            first = given.messages
            if way is Mouse:
                failing.bury_again(count, first)
    return int(not is_well)


def night(way: type[Mouse] | type[Keyboard], numbers: range) -> tuple[Shift, list[str]]:
    """One night, and what the consumer has not accepted once of these orders."""
    with (
        TemporaryDirectory() as var,
        console(Path(var)) as page,
        Consumer() as consumer,
    ):
        done = shift.work(way(page), len(numbers))
    return done, consumer.faults(numbers)


def tell(done: Shift, way: str, faults: list[str]) -> bool:
    """Print what it took; whether it was little, and nothing is lost."""
    print(f"\n{way}\n\n{shift.table(done)}\n")
    print("Lost or done twice:", *faults or ["nothing"], flush=True)
    is_short = done.seconds <= MOST_SECONDS
    return not faults and is_short and done.interactions <= MOST_INTERACTIONS


if __name__ == "__main__":
    sys.exit(main())
