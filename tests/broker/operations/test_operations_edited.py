"""One message that a person edits: a child, or an error; never neither."""

from __future__ import annotations

import pytest

from broker import operations
from broker.errors import NotResubmittable
from broker.errors.operations import NothingChosen
from broker.errors.patches import NotRepaired
from broker.formats.patches import HeaderOperation
from broker.models import Kind, Message, Operation, Queue
from broker.monitoring import fsck
from broker.operations import Edit
from broker.queueing import journal
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import on, operator, plan, start
from tests.broker.ordering import delayed_on, make_orders, undo
from tests.broker.repairing import body_of, edited, make_broken
from tests.make import NOON, make_queue

pytestmark = pytest.mark.django_db

FIXED = Edit(body=b'{"fixed": true}')


def test_an_edited_dead_letter_goes_home_as_a_child() -> None:
    (died,) = make_broken({"a": 1}, properties={"tenant": "t7"}, correlation_id="c")
    headers = [HeaderOperation("set", "correlation-id", "d")]

    child = edited(died, Edit(headers, b"other"))

    assert on("orders") == [child]
    row = Message.objects.get(pk=child)
    assert (bytes(row.body), row.correlation_id) == (b"other", "d")
    assert row.properties["tenant"] == "t7"
    assert row.copied_from == died
    assert body_of(died) == b'{"a": 1}'
    kinds = [one.kind for one in journal.lifeline(child) if "repaired" in one.detail]
    assert kinds == [Kind.RESUBMIT, Kind.PUT]
    assert fsck.violations() == []


def test_an_edit_can_be_undone() -> None:
    (died,) = make_broken({"a": 1})
    edited(died, FIXED)

    undo(Operation.objects.get())

    assert (on("DLQ"), on("orders")) == ([died], [])


def test_a_message_that_waits_is_replaced_on_its_own_queue() -> None:
    first, waiting = make_orders(1, delayed=1)

    child = edited(first, FIXED, queue="orders")
    later = edited(waiting, FIXED, queue="orders")

    assert on("orders") == [child, later]
    assert delayed_on("orders") == []
    assert body_of(later) == FIXED.body
    undo(Operation.objects.latest("pk"))
    assert delayed_on("orders") == [waiting]


def test_a_second_edit_of_the_same_letter_is_an_error_that_is_seen() -> None:
    (died,) = make_broken({"a": 1})
    child = edited(died, FIXED)

    with pytest.raises(NotResubmittable):
        edited(died, Edit(body=b"again"))

    assert on("orders") == [child]
    assert body_of(child) == FIXED.body
    assert Operation.objects.count() == 1, "nothing was planned for nothing"


def test_a_letter_that_goes_between_plan_and_start_is_an_error_that_is_seen() -> None:
    (died,) = make_broken({"a": 1})
    planned = operations.plan_edit(operator(), died, "DLQ", FIXED)
    start(plan())

    with pytest.raises(NotRepaired) as refused:
        operations.start_edit(planned.pk)

    assert refused.value.why == operations.Outcome.GONE.sentence
    assert body_of(on("orders")[0]) == b'{"a": 1}'


def test_what_a_consumer_has_cannot_be_edited() -> None:
    (one,) = make_orders(1)
    UnitOfWork(now=NOON).get("orders")

    with pytest.raises(NothingChosen):
        edited(one, FIXED, queue="orders")


def test_a_letter_whose_queue_is_gone_knows_no_way_back() -> None:
    (died,) = make_broken({"a": 1})
    Queue.objects.filter(name="orders").delete()

    with pytest.raises(NotResubmittable):
        edited(died, FIXED)

    assert on("DLQ") == [died]


def test_what_is_resubmitted_unedited_is_the_same_to_the_last_byte() -> None:
    body = b'\xef\xbb\xbf{"b": 1.10,\r\n "a":1e2}\n\0'
    fields = {"correlation_id": "c", "reply_to": "r", "subject": "s", "group_id": "g"}
    properties = {"tenant": "t7", "n": 1.5, "none": None}
    (died,) = make_broken(
        body, envelope=b"\0\0\0\0\0", properties=properties, producer="shop", **fields
    )
    before = Message.objects.get(pk=died)

    start(plan())

    (child,) = on("orders")
    after = Message.objects.get(pk=child)
    assert bytes(after.body) == body
    assert bytes(after.envelope or b"") == b"\0\0\0\0\0"
    same = (*fields, "content_type", "producer", "durable", "message_id", "headers")
    assert [getattr(after, name) for name in same] == [
        getattr(before, name) for name in same
    ]
    own = {k: v for k, v in after.properties.items() if not k.startswith("_")}
    assert own == properties


def test_the_queue_must_be_the_one_where_it_lies() -> None:
    make_queue("other")
    (died,) = make_broken({"a": 1})

    with pytest.raises(NothingChosen):
        edited(died, FIXED, queue="other")

    assert on("DLQ") == [died]
