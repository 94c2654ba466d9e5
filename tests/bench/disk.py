"""What a message takes of the disk: its row, the journal, and what is written ahead."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from broker.queueing.put import NewMessage, put_many
from broker.transactions.scope import unit_of_work
from tests.bench import ground, report

QUEUE = "cycle"
BODIES = (512, 1024, 10_240)  # bytes
MESSAGES = {1: 5_000, 100: 20_000}  # by batch
TITLE = "Bytes on the disk"
HEAD = (
    *("body", "message", "journal, one by one", "journal, batches of 100"),
    *("written ahead, one by one", "written ahead, batches of 100"),
)
PROSE = """\
Written by `make bench ARGS="--disk --write"`. {singly:,} messages one by one, and
{many:,} in batches of 100, of random bytes, which do not compress; after they were put,
got and accepted. Bytes of a message, with indexes, rounded to 10; what is written ahead
has whole pages in it, at the first change of each after a checkpoint.

{table}"""
NOW = """
SELECT {message}, {event}, pg_current_wal_insert_lsn() - '0/0'"""
SIZE = """(
    SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('broker_{0}')
    WHERE isleaf
)"""


@dataclass(frozen=True)
class Bytes:
    """Of all that is there, or of one message."""

    message: float
    journal: float
    ahead: float


def measure(say: Callable[[str], None], *, write: bool) -> None:
    with ground.own_database():
        rows = list(measured(say))
    lines = [HEAD, ("---",) * len(HEAD), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    print(table)
    if write:
        said = PROSE.format(singly=MESSAGES[1], many=MESSAGES[100], table=table)
        report.write_part(TITLE, said)


def measured(say: Callable[[str], None]) -> Iterator[tuple[str, ...]]:
    for body in BODIES:
        say(f"Bodies of {body:,} bytes")
        one, many = (of_a_message(body, *item) for item in MESSAGES.items())
        yield (
            f"{body:,}",
            *(f"{each:,.0f}" for each in (one.message, one.journal, many.journal)),
            *(f"{each:,.0f}" for each in (one.ahead, many.ahead)),
        )


def of_a_message(body: int, batch: int, messages: int) -> Bytes:
    ground.clear()
    ground.settle_down()
    before = now()
    for _ in range(0, messages, batch):
        put_many([NewMessage(QUEUE, secrets.token_bytes(body)) for _ in range(batch)])
        with unit_of_work() as work:
            work.get(QUEUE, batch)
    after = now()
    return Bytes(
        tens((after.message - before.message) / messages),
        tens((after.journal - before.journal) / messages),
        tens((after.ahead - before.ahead) / messages),
    )


def tens(number: float) -> float:
    return round(number, -1)


def now() -> Bytes:
    sizes = {table: SIZE.format(table) for table in ("message", "event")}
    (found,) = ground.fetch(NOW.format(**sizes))
    return Bytes(*map(float, found))
