"""Dead letters of many causes, and a consumer that accepts what was made right."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator

from django.db import connection

from broker.models import Queue
from broker.monitoring import fsck
from broker.queueing import journal
from broker.sql import partitions
from broker.transactions.scope import unit_of_work
from tests.broker.elsewhere import Background
from tests.console.graveyard import AT_ONCE, CAUSES, QUEUES, UNREADABLE, die_at_once
from tests.make import make_queue, make_setting

RIGHT = "EUR"
SHARE = 0.3  # of all messages, in the largest group
TAKES = 100  # messages at once
IDLE_S = 0.02
STATEMENTS = "ANALYZE broker_ready, broker_dead_letter, broker_message"


def bury(total: int, causes: int) -> Iterator[int]:
    """Let messages of these causes die; the largest group is ``SHARE`` of them. Yields
    how many have died."""
    make_queue("DLQ", address="DLA")
    make_setting("#", max_delivery_attempts=1, dead_letter_address="DLA")
    for queue in QUEUES:
        make_queue(queue)
    partitions.make_ahead()
    others = [one for one in CAUSES if one != UNREADABLE][: causes - 1]
    each, more = divmod(total - largest(total), len(others))
    parts = [(UNREADABLE, "orders", largest(total))]
    parts += [
        (cause, QUEUES[number % len(QUEUES)], each + (number < more))
        for number, cause in enumerate(others)
    ]
    dead = 0
    for cause, queue, count in parts:
        for now in die(cause, queue, count, dead):
            dead = now
            yield dead
    analyze()


def largest(total: int) -> int:
    """How many messages the largest group has."""
    return int(total * SHARE)


def bury_again(count: int, first: int) -> None:
    """Let so many messages die of the cause of the largest group."""
    for _ in die(UNREADABLE, "orders", count, first):
        pass
    analyze()


def die(cause: str, queue: str, count: int, first: int) -> Iterator[int]:
    for begin in range(0, count, AT_ONCE):
        some = min(AT_ONCE, count - begin)
        die_at_once(queue, cause, first + begin, some)
        yield first + begin + some


def analyze() -> None:
    """As autovacuum would have done by the time that somebody looks."""
    with connection.cursor() as cursor:
        cursor.execute(STATEMENTS)


def faults(left: int) -> list[str]:
    """What is wrong with the queues, if so many dead letters should be left."""
    depths = {
        Queue.objects.get(pk=queue_id).name: depth.total
        for queue_id, depth in journal.depths().items()
    }
    wrong = [f"{depths['orders']} still on orders"] if depths["orders"] else []
    if depths["DLQ"] != left:
        wrong.append(f"{depths['DLQ']} dead letters, and not {left}")
    return wrong + [str(one) for one in fsck.violations()]


class Consumer:
    """Accepts orders in euro, and rejects others."""

    def __init__(self) -> None:
        self.accepted: Counter[int] = Counter()  # by number of the order
        self.rejected = 0
        self.closing = threading.Event()

    def __enter__(self) -> Consumer:
        self.work = Background(self.run)
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.work.join()

    def run(self) -> None:
        while not self.closing.is_set():
            if not self.take():
                self.closing.wait(IDLE_S)

    def take(self) -> bool:
        right: list[int] = []
        with unit_of_work(actor="shop.book") as work:
            deliveries = work.get("orders", TAKES)
            for delivery in deliveries:
                order = json.loads(delivery.body)
                if (currency := order["currency"]) == RIGHT:
                    right.append(order["order"])
                    continue
                why = (
                    f"ValueError: {order['order']}: the currency {currency} is unknown"
                )
                work.reject_at_commit(delivery, why)
                self.rejected += 1
        self.accepted.update(right)
        return bool(deliveries)

    def faults(self, numbers: range) -> list[str]:
        """What it has not accepted of these orders, or more than once, or of others."""
        wrong = self.accepted.copy()
        wrong.subtract(numbers)
        lost = sum(1 for count in wrong.values() if count < 0)
        more = sum(1 for count in wrong.values() if count > 0)
        said = [f"{lost} not accepted"] if lost else []
        return said + ([f"{more} accepted too often"] if more else [])
