"""A commit that gets the next message: if it fails, nothing was got."""

from __future__ import annotations

import pytest

from broker.client.dispatch.connection_consumer import ConnectionConsumer
from broker.client.dispatch.server_session import ServerSession
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

BATCHES = pytest.mark.parametrize("batch", [1, 2])
JOINED_OR_LEASED = pytest.mark.parametrize("join", [True, False])


@pytest.fixture
def orders() -> Queue:
    return make_queue("orders")


@BATCHES
@JOINED_OR_LEASED
def test_a_commit_that_fails_gets_nothing_more(
    orders: Queue, join: bool, batch: int
) -> None:
    put_many(make_messages(2 * batch))

    def answer(_: Delivery, work: UnitOfWork) -> None:
        work.put("nowhere")

    consumer = ConnectionConsumer.open(handler(answer, join=join, batch=batch))
    session = ServerSession(consumer, goes_on=lambda: True)
    assert session.serve() == batch

    assert session.following == []
    assert not Claim.objects.exists()
    backouts = Ready.objects.order_by("id").values_list("backout_count", flat=True)
    assert list(backouts) == [1] * batch + [0] * batch


@BATCHES
@JOINED_OR_LEASED
@pytest.mark.spec("UOW-7")
def test_an_acceptance_that_comes_too_late_gets_nothing_more(
    orders: Queue, elsewhere: Elsewhere, join: bool, batch: int
) -> None:
    put_many(make_messages(2 * batch))

    def overtaken(_: Delivery) -> None:
        elsewhere(UnitOfWorkRow.objects.update, deadline="2026-01-01T00:00Z")
        elsewhere(settle.back_out_overdue, limit=9)

    consumer = ConnectionConsumer.open(handler(Seen(overtaken), join=join, batch=batch))
    session = ServerSession(consumer, goes_on=lambda: True)
    assert session.serve() == batch

    assert session.following == []
    assert not Claim.objects.exists()
    backouts = Ready.objects.order_by("id").values_list("backout_count", flat=True)
    assert list(backouts) == [1] * batch + [0] * batch
    assert fsck.violations() == []
