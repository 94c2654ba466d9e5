"""Measures, prints the table, and says which targets are reached."""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser, Namespace

from tests.bench import cells, ground, machine, report
from tests.bench.clients import clients
from tests.bench.slices import FULL, QUICK


def arguments() -> Namespace:
    parser = ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="in less than a minute")
    parser.add_argument("--clients", type=int, default=1, help="that work at once")
    parser.add_argument("--write", action="store_true", help=f"to {report.PAGE.name}")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    size = QUICK if options.quick else FULL
    began = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {what}", file=sys.stderr, flush=True)

    say("Making a database")
    with ground.own_database() as name, clients(options.clients, name) as crowd:
        described = machine.describe()
        results = list(cells.measure(crowd, size, say))
        figures = list(cells.measure_scale(crowd, size, name, say))
    say("Done")
    text = report.table(results)
    more = report.table_of_figures(figures)
    print("", *described, "", text, "", more, sep="\n")
    if options.write:
        report.write(
            text,
            more,
            report.chart(results),
            described,
            clients=f"{options.clients} client{'s'[: options.clients > 1]}",
            **vars(size),
        )


if __name__ == "__main__":
    main()
