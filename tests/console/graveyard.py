"""Very many dead letters, made by the engine itself, of many causes on some queues."""

from __future__ import annotations

import json
from collections.abc import Iterator

from broker.queueing.put import NewMessage, put_many
from broker.sql import partitions
from broker.transactions.scope import unit_of_work
from tests.make import make_queue, make_setting

QUEUES = ("billing", "imports", "labels", "mail", "orders", "stock")
AT_ONCE = 1000  # messages
UNREADABLE = "ValueError: {n}: the currency XBT is unknown"  # what is looked for
CAUSES = (
    UNREADABLE,
    *(
        f"{kind}: {{n}}: {what}"
        for kind in ("KeyError", "ValueError", "TimeoutError", "LookupError")
        for what in (
            "no customer of this number",
            "no answer from the warehouse",
            "an address without a street",
            "more pieces than there are",
            "a date before the year began",
            "a price below nothing",
            "no such branch",
            "a signature that is not ours",
        )
    ),
)


def shares(total: int, causes: int) -> list[int]:
    """So many letters in so many parts, the first much larger than the last."""
    weights = [1 / (number + 2) for number in range(causes)]
    parts = [max(int(total * one / sum(weights)), 1) for one in weights]
    return [parts[0] + total - sum(parts), *parts[1:]]


def bury(total: int, causes: int = 30) -> Iterator[int]:
    """Let so many messages die, each part of them of a cause of its own.

    What is looked for is neither the first group nor the last. Yields how many died.
    """
    make_queue("DLQ", address="DLA")
    make_setting("#", max_delivery_attempts=1, dead_letter_address="DLA")
    for queue in QUEUES:
        make_queue(queue)
    partitions.make_ahead()
    parts = shares(total, causes)
    others = [one for one in CAUSES if one != UNREADABLE][: causes - 1]
    place = causes // 4
    dead = 0
    for number, cause in enumerate([*others[:place], UNREADABLE, *others[place:]]):
        queue = "orders" if cause == UNREADABLE else QUEUES[number % len(QUEUES)]
        for begin in range(0, parts[number], AT_ONCE):
            count = min(AT_ONCE, parts[number] - begin)
            die_at_once(queue, cause, dead, count)
            dead += count
            yield dead


def die_at_once(queue: str, cause: str, first: int, count: int) -> None:
    put_many([order(queue, first + number) for number in range(count)])
    with unit_of_work(actor="shop.book") as work:
        work.get(queue, count)
        work.back_out(cause.format(n=first))


def order(queue: str, number: int) -> NewMessage:
    said = {"order": number, "customer": f"c-{number % 977}", "currency": "XBT"}
    body = json.dumps(said).encode()
    return NewMessage(queue, body, content_type="application/json")
