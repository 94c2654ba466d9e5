"""How transactions of clients are committed, also when an answer was lost."""

from __future__ import annotations

import pytest
from django.db import transaction

from broker.amqp.transactions.commit import Discharge, current_xid, end
from broker.errors import LockLost, NoSuchAddress
from broker.errors.queues import QueueFull
from broker.models import Message
from broker.queueing import processes
from broker.queueing.get import get
from broker.queueing.put import NewMessage, put
from broker.queueing.store import Receipt
from broker.settlement.batch import Settlement
from broker.settlement.outcomes import Accept
from broker.transactions.merged_puts import Put, store
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")


def held(body: bytes = b"1") -> Settlement:
    """A delivery that somebody has, and that is accepted."""
    put("orders", body)
    (one,) = get("orders", owner=processes.current())
    return Settlement(one.uow, one.queue_id, [one.message_id], Accept())


def test_a_transaction_whose_answer_was_lost_is_not_made_twice() -> None:
    make_queue("orders")
    make_queue("bills")
    discharge = Discharge([held()], make_messages(1, "bills"))

    assert end([discharge]) == [None]
    assert end([discharge]) == [None]

    assert Message.objects.filter(address="bills").count() == 1


def test_a_transaction_that_was_undone_is_made_again() -> None:
    make_queue("bills")
    discharge = Discharge([], make_messages(1, "bills"))
    with transaction.atomic():
        discharge.xid = current_xid()
        transaction.set_rollback(True)

    assert end([discharge]) == [None]

    assert Message.objects.filter(address="bills").count() == 1


def test_all_of_a_transaction_is_committed_or_nothing() -> None:
    make_queue("orders")
    make_queue("bills")
    good = held()
    lost = Settlement(good.uow, good.queue_id, [good.ids[0] + 1], Accept())

    (error,) = end([Discharge([good, lost], make_messages(1, "bills"))])

    assert isinstance(error, LockLost)
    assert not Message.objects.filter(address="bills").exists()
    assert end([good]) == [None]


def test_transactions_travel_together_and_one_that_is_refused_goes_alone() -> None:
    make_queue("orders")
    make_queue("bills", max_depth=2)
    each = [Discharge([], make_messages(1, "bills")) for _ in range(3)]
    settlement = held()

    first, second, third, last = end([*each, settlement])

    assert (first, second, last) == (None, None, None)
    assert isinstance(third, QueueFull)
    assert Message.objects.filter(address="bills").count() == 2


def receipts_of(result: list[Receipt] | Exception) -> list[Receipt]:
    assert isinstance(result, list)
    return result


def test_puts_of_several_actors_travel_together() -> None:
    make_queue("orders")

    results = store(
        [Put(make_messages(2, "orders"), actor) for actor in ("ada", "omar", "ada")]
    )

    assert [len(receipts_of(one)) for one in results] == [2, 2, 2]
    assert Message.objects.count() == 6


def test_a_put_that_is_refused_is_alone_in_that() -> None:
    make_queue("orders")
    puts = [Put([NewMessage("orders", b"%d" % number)], "ada") for number in range(9)]
    puts[4].messages[0].address = "nowhere"

    results = store(puts)

    assert isinstance(results.pop(4), NoSuchAddress)
    assert [len(receipts_of(one)) for one in results] == [1] * 8
    stored = Message.objects.order_by("pk").values_list("body", flat=True)
    assert [bytes(one) for one in stored] == [b"%d" % n for n in range(9) if n != 4]


def test_what_one_transfer_brings_is_stored_whole_or_not_at_all() -> None:
    make_queue("orders", max_depth=3)
    parts = [
        Put(make_messages(2, "orders"), "ada"),
        Put(make_messages(2, "orders"), "ada"),
    ]

    first, second = store(parts)

    assert len(receipts_of(first)) == 2
    assert isinstance(second, QueueFull)
    assert Message.objects.count() == 2
