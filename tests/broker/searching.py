"""A queue of messages in two colours, and a consumer that takes the red ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import Max

from broker.formats.selectors import parse
from broker.models import Message, Queue
from broker.queueing import low_watermarks, selective_get
from broker.queueing.get import Delivery
from broker.queueing.low_watermarks import FLOORS
from broker.queueing.put import NewMessage, put_many
from broker.queueing.selective_get import Search
from broker.transactions.scope import UnitOfWork
from tests.make import make_queue

RED = parse("colour = 'red'")
IN_PYTHON = parse("colour = 'red' AND 2 / 1 = 2")
assert IN_PYTHON.path is None


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every get samples first; and a statement looks at few entries."""
    monkeypatch.setattr(low_watermarks, "SAMPLE_S", 0.0)
    monkeypatch.setattr(selective_get, "SCAN", 10)
    FLOORS.forget()
    yield
    FLOORS.forget()


@pytest.fixture
def orders(transactional_db: None) -> Queue:
    return make_queue()


def message(number: int, colour: str, **fields: Any) -> NewMessage:
    return NewMessage(
        "orders", str(number).encode(), properties={"colour": colour}, **fields
    )


def put_some(count: int, *, red: set[int], **fields: Any) -> None:
    """Messages from 1; some of them red."""
    put_many(
        [
            message(n, "red" if n in red else "blue", **fields)
            for n in range(1, count + 1)
        ]
    )


def got(search: Search, limit: int = 1, work: UnitOfWork | None = None) -> list[int]:
    """The numbers of what a search takes; kept where no unit of work is given."""
    if work is not None:
        return numbers(take(work, search, limit))
    work = UnitOfWork()
    deliveries = take(work, search, limit)
    work.commit()
    return numbers(deliveries)


def take(work: UnitOfWork, search: Search, limit: int = 1) -> list[Delivery]:
    return work.get("orders", limit, search=search)


def numbers(deliveries: list[Delivery]) -> list[int]:
    return [int(delivery.body) for delivery in deliveries]


def settle_all() -> None:
    """No transaction is open here; one of another database would hold up the floors."""
    latest = Message.objects.aggregate(latest=Max("id"))["latest"]
    FLOORS.settled = max(FLOORS.settled, latest)
