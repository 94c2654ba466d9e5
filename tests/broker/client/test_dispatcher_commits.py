"""A commit that gets the next message: if it fails, nothing was got."""

from __future__ import annotations

import pytest

from broker.client.dispatch.connection_consumer import (
    ConnectionConsumer,
    ServerSession,
)
from broker.models import Claim, Queue, Ready
from broker.models import UnitOfWork as UnitOfWorkRow
from broker.monitoring import fsck
from broker.queueing.get import Delivery
from broker.queueing.put import put_many
from broker.settlement import settle
from broker.transactions.scope import UnitOfWork
from tests.broker.elsewhere import Elsewhere
from tests.broker.handling import Seen, handler
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

JOINED_OR_LEASED = pytest.mark.parametrize("join", [True, False])


@pytest.fixture
def orders() -> Queue:
    return make_queue("orders")


@JOINED_OR_LEASED
def test_a_commit_that_fails_gets_nothing_more(orders: Queue, join: bool) -> None:
    put_many(make_messages(2))

    def answer(_: Delivery, work: UnitOfWork) -> None:
        work.put("nowhere")

    consumer = ConnectionConsumer.open(handler(answer, join=join))
    session = ServerSession(consumer, goes_on=lambda: True)
    assert session.serve() == 1

    assert session.following == []
    assert not Claim.objects.exists()
    first, second = Ready.objects.order_by("id")
    assert (first.backout_count, second.backout_count) == (1, 0)


@JOINED_OR_LEASED
@pytest.mark.spec("UOW-7")
def test_an_acceptance_that_comes_too_late_gets_nothing_more(
    orders: Queue, elsewhere: Elsewhere, join: bool
) -> None:
    put_many(make_messages(2))

    def overtaken(_: Delivery) -> None:
        elsewhere(UnitOfWorkRow.objects.update, deadline="2026-01-01T00:00Z")
        elsewhere(settle.back_out_overdue, limit=9)

    consumer = ConnectionConsumer.open(handler(Seen(overtaken), join=join))
    session = ServerSession(consumer, goes_on=lambda: True)
    assert session.serve() == 1

    assert session.following == []
    assert not Claim.objects.exists()
    first, second = Ready.objects.order_by("id")
    assert (first.backout_count, second.backout_count) == (1, 0)
    assert fsck.violations() == []
