"""What was found, as a part of docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Mapping

from tests.bench import report
from tests.tools.bridge_faults.pairs import Pair
from tests.tools.bridge_faults.strikes import Found

TITLE = "Faults of links"
PART = """Written by
`manage.py with_servers python -m tests.tools.bridge_faults --write`, seed {seed}.
{messages:,} messages of all kinds, in batches of {batch}, through {faults} faults:
`kill -9` of the bridge, cuts of its connection to the other broker, `kill -9` of all
processes of the other broker, and of the database. They strike at drawn points, before
or after a step. *Changed* are messages that are not as the table of
[bridges.md](bridges.md) has them. *Disorder* is counted among messages of one priority
and delivery mode. *Out* is from here to the other broker, *in* the other way; `amqp` is
RabbitMQ by AMQP 1.0.

| link | kind | bridge | cut | broker | database | lost | doubled | disorder | changed |
{line}
{rows}

Links that are not transacted carry a message at least once: a fault doubles what was
sent and whose acknowledgement is lost. `duplicate-detection` finds what comes back.
"""
LINE = f"|{'---|' * 10}"
KINDS = {
    (True, False): "transacted",
    (False, False): "at least once",
    (False, True): "duplicate-detection",
}


def write(found: Mapping[str, tuple[Pair, Found]], *, seed: int) -> None:
    """Put it in the place of what the last run wrote.

    Args:
        found: by the name of the link on the command line.
    """
    pair, _ = next(iter(found.values()))
    said = PART.format(
        seed=seed,
        line=LINE,
        messages=sum(one.sent for _, one in found.values()),
        batch=pair.link.batch,
        faults=sum(one.struck.total() for _, one in found.values()),
        rows="\n".join(row(name, *both) for name, both in found.items()),
    )
    report.write_part(TITLE, said.strip())


def row(name: str, pair: Pair, found: Found) -> str:
    link = pair.link
    struck = [found.struck[how] for how in ("kill", "cut", "peer", "database")]
    wrong = [found.lost, found.doubled, found.out_of_order, found.changed]
    cells = [
        *(name, KINDS[link.transacted, link.duplicate_detection]),
        *map(str, struck + wrong),
    ]
    return f"| {' | '.join(cells)} |"
