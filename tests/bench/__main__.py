"""Measures, prints the table, and says which targets are reached."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable

from tests.bench import (
    cells,
    disk,
    door,
    ground,
    links,
    machine,
    pages,
    quotes,
    report,
)
from tests.bench import django_tasks as measuring_tasks
from tests.bench import handlers as measuring_handlers
from tests.bench.clients import clients
from tests.bench.handlers import Drains
from tests.bench.many import FEW, Many
from tests.bench.slices import FULL, QUICK, SHORT, Cell


def arguments() -> Namespace:
    parser = ArgumentParser(prog="make bench", description=__doc__)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="in a few minutes")
    size.add_argument("--short", action="store_true", help="in ten, not in twenty")
    parser.add_argument("--clients", type=int, default=1, help="that work at once")
    parser.add_argument("--failures", action="store_true", help="these alone")
    parser.add_argument(
        "--singles", action="store_true", help="one message at a time alone"
    )
    parser.add_argument("--amqp", action="store_true", help="its listener alone")
    parser.add_argument("--pages", action="store_true", help="those of the console")
    parser.add_argument("--links", action="store_true", help="those of bridges")
    parser.add_argument("--disk", action="store_true", help="bytes of a message")
    parser.add_argument(
        "--handlers", action="store_true", help="those of other task queues, too"
    )
    parser.add_argument(
        "--tasks", action="store_true", help="Django's, beside other backends"
    )
    parser.add_argument("--write", action="store_true", help=f"to {report.PAGE.name}")
    parser.add_argument(
        "--quotes", action="store_true", help="what other pages quote, and no more"
    )
    return parser.parse_args()


def main() -> None:
    options = arguments()
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {what}", file=sys.stderr, flush=True)

    if options.quotes:
        quotes.write()
    elif options.pages:
        many = FEW if options.quick else Many()
        pages.measure(say, size=many, write=options.write)
    elif options.links:
        links.measure(
            say, count=6_000 if options.quick else 20_000, write=options.write
        )
    elif options.disk:
        disk.measure(say, write=options.write)
    elif options.handlers or options.tasks:
        measured = measuring_tasks if options.tasks else measuring_handlers
        size = measuring_handlers.QUICK if options.quick else Drains()
        measured.measure(say, size=size, write=options.write)
    else:
        measure(options, say)


def measure(options: Namespace, say: Callable[[str], None]) -> None:
    size = QUICK if options.quick else SHORT if options.short else FULL
    say("Making a database")
    with ground.own_database() as name, clients(options.clients, name) as crowd:
        described = machine.describe()
        if options.amqp:
            figures = list(door.measure(Cell(crowd, size), name))
            print("", *described, "", report.table_of_figures(figures), sep="\n")
            return
        if options.failures or options.singles:
            kind = cells.failures if options.failures else cells.singles
            results = list(kind(crowd, size, say))
            if options.singles:
                results += cells.at_once(name, size, say)
            print("", *described, "", report.table(results), sep="\n")
            print("", report.table_of_costs(results), sep="\n")
            return
        results = list(cells.measure(crowd, size, say))
        results += cells.at_once(name, size, say)
        figures = list(cells.measure_scale(crowd, size, name, say))
    say("Done")
    parts = report.tables(results, figures)
    print("", *described, "", *parts.values(), sep="\n\n")
    if options.write:
        crowd_words = f"{options.clients} client{'s'[: options.clients > 1]}"
        report.write(results, figures, described, clients=crowd_words, **vars(size))


if __name__ == "__main__":
    main()
