"""Operations that change what they send on: looked at first, then done."""

from __future__ import annotations

import json

import pytest
from django.db import connection

from broker import operations
from broker.errors import OperationNotPlanned
from broker.errors.patches import InvalidPatch, NotPatchable, PatchNotLooked
from broker.models import Kind, Message, Operation, OperationPatch, RoutingType
from broker.monitoring import fsck
from broker.operations import Outcome, patching
from broker.queueing import journal
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import on, plan
from tests.broker.ordering import copies_of, make_map, make_orders, notes, plan_of, undo
from tests.broker.repairing import EUR, body_of, make_broken, patched
from tests.make import NOON, make_queue

pytestmark = pytest.mark.django_db


def test_each_child_is_patched_and_knows_its_parent() -> None:
    died = make_broken(
        b'{"id": 12345678901234567890, "currency": "XBT"}', {"currency": "BTC"}
    )
    planned = patched(EUR)

    operations.start(planned.pk, now=NOON)

    children = copies_of(planned)
    assert on("orders") == children
    assert on("DLQ") == []
    assert body_of(children[0]) == b'{"id": 12345678901234567890, "currency": "EUR"}'
    rows = Message.objects.in_bulk([*died, *children])
    assert [rows[one].copied_from for one in children] == died
    assert bytes(rows[died[1]].body) == b'{"currency": "BTC"}', "the parent stays"
    (event,) = [one for one in journal.lifeline(died[0]) if one.kind == Kind.RESUBMIT]
    assert event.actor == "omar"
    assert event.detail["repaired"] is True
    assert event.detail["operation"] == planned.pk
    assert fsck.violations() == []


def test_a_patch_that_does_not_fit_leaves_the_message_and_says_why() -> None:
    bodies = [
        {"tenant": 1, "currency": "XBT"},
        {"tenant": 2, "currency": "XBT"},
        {"tenant": 1},
        b"not json",
        {"tenant": 1, "currency": "EUR"},
        b'{"tenant": 1, "currency": "XBT", "x": "' + b"y" * 2**20 + b'"}',
    ]
    died = make_broken(*bodies)
    patch = [
        {"op": "test", "path": "/tenant", "value": 1},
        {"op": "replace", "path": "/currency", "value": "EUR"},
    ]

    planned = patched({"body": {"patch": patch}})

    why = [
        Outcome.GUARD_FAILED,
        Outcome.NO_SUCH_PATH,
        Outcome.NOT_JSON,
        Outcome.UNCHANGED,
        Outcome.TOO_LARGE,
    ]
    assert notes(planned) == ["planned", *[one.sentence for one in why]]
    assert operations.preview(planned.pk).counts == {Outcome.WILL_GO: 1}
    operations.start(planned.pk, now=NOON)
    assert on("DLQ") == died[1:], "nothing goes unpatched"
    (child,) = on("orders")
    assert json.loads(body_of(child)) == {"tenant": 1, "currency": "EUR"}
    planned.refresh_from_db()
    assert planned.state == Operation.State.DONE


def test_headers_are_set_removed_and_renamed_in_the_child() -> None:
    properties = {"tenant": "t7", "price": 1.5, "old": True, "keep": None}
    (died,) = make_broken({"a": 1}, properties=properties, reply_to="back")
    with connection.cursor() as cursor:  # more digits than a float has
        cursor.execute(
            "UPDATE broker_message SET properties = properties"
            " || '{\"price\": 12345678901234567890.10}' WHERE id = %s",
            [died],
        )
    headers = [
        {"op": "test", "name": "h.tenant", "value": "t7"},
        {"op": "rename", "name": "h.price", "to": "h.amount"},
        {"op": "remove", "name": "h.old"},
        {"op": "remove", "name": "reply-to"},
        {"op": "set", "name": "subject", "value": "corrected"},
        {"op": "set", "name": "h.note", "value": "naïve “text”"},
    ]

    planned = patched({"headers": headers})
    operations.start(planned.pk, now=NOON)

    (child,) = copies_of(planned)
    row = Message.objects.get(pk=child)
    assert (row.subject, row.reply_to) == ("corrected", None)
    own = {k: v for k, v in row.properties.items() if not k.startswith("_")}
    assert own.keys() == {"tenant", "amount", "keep", "note"}
    assert own["note"] == "naïve “text”"
    assert bytes(row.body) == b'{"a": 1}'
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT properties ->> 'amount' FROM broker_message WHERE id = %s", [child]
        )
        assert cursor.fetchone() == ("12345678901234567890.10",)


def test_selectors_are_asked_about_what_the_child_will_be() -> None:
    """Those of the other queues of the address; its own gets it whatever it selects."""
    make_queue(
        "audit",
        address="orders",
        routing_type=RoutingType.MULTICAST,
        selector="tenant = 't8'",
    )
    make_broken({"a": 1}, properties={"tenant": "t7"})
    headers = [{"op": "set", "name": "h.tenant", "value": "t8"}]

    planned = patched({"headers": headers}, argument=operations.EVERY_QUEUE)
    operations.start(planned.pk, now=NOON)

    assert copies_of(planned) == on("audit")


def test_an_undo_brings_the_parent_back_as_it_was() -> None:
    died = make_broken({"currency": "XBT"})
    planned = patched(EUR)
    operations.start(planned.pk, now=NOON)

    undone = undo(planned)

    assert notes(undone) == ["done"]
    assert (on("DLQ"), on("orders")) == (died, [])
    assert json.loads(body_of(died[0])) == {"currency": "XBT"}
    assert fsck.violations() == []


def test_a_plan_is_not_started_before_all_was_looked_at() -> None:
    died = make_broken({"currency": "XBT"}, {"currency": "BTC"})
    planned = plan()
    operations.set_patch(planned.pk, json.dumps(EUR))
    assert operations.look(planned.pk, limit=1) == 1
    assert operations.waiting() == [planned.pk]

    with pytest.raises(PatchNotLooked):
        operations.start(planned.pk, now=NOON)

    planned.refresh_from_db()
    assert planned.state == Operation.State.PLANNED
    assert on("DLQ") == died
    while operations.look(planned.pk, limit=1):
        pass
    assert operations.waiting() == []
    assert OperationPatch.objects.get().looked == 2
    operations.start(planned.pk, now=NOON)
    assert len(on("orders")) == 2


def test_large_bodies_are_read_a_few_at_a_time() -> None:
    filler = "x" * (patching.CHUNK_BYTES // 5)
    make_broken(*[{"n": n, "filler": filler} for n in range(7)])
    planned = plan()
    operations.set_patch(planned.pk, json.dumps(EUR))

    looked = [operations.look(planned.pk) for _ in range(3)]
    operations.start(planned.pk, now=NOON)

    assert looked == [4, 3, 0]
    assert len(on("orders")) == 4
    assert [operations.step(planned.pk, now=NOON) for _ in range(2)] == [3, 0]
    assert len(on("orders")) == 7


def test_messages_that_are_changed_alike_are_counted_together() -> None:
    make_broken(*[{"currency": f"X{n}"} for n in range(5)], {"other": 1})

    planned = patched(EUR)

    alike = OperationPatch.objects.get(pk=planned.pk).alike
    assert [(one["kinds"], one["messages"]) for one in alike] == [
        (["replace /currency"], 5),
        (["add /currency"], 1),
    ]
    assert alike[0]["changes"] == [["/currency", '"X0"', '"EUR"']]


def test_another_patch_takes_the_place_of_the_first() -> None:
    make_broken({"currency": "XBT"}, b"not json")
    planned = patched(EUR)
    assert notes(planned)[1] == Outcome.NOT_JSON.sentence

    operations.drop_patch(planned.pk)

    assert notes(planned) == ["planned", "planned"]
    headers = [{"op": "set", "name": "subject", "value": "x"}]
    operations.set_patch(planned.pk, json.dumps({"headers": headers}))
    assert operations.waiting() == [planned.pk]
    while operations.look(planned.pk):
        pass
    assert notes(planned) == ["planned", "planned"]


def test_only_what_is_sent_on_can_be_patched() -> None:
    make_map()
    make_orders(1)
    removing = plan_of(Operation.Kind.REMOVE)

    with pytest.raises(NotPatchable):
        operations.set_patch(removing.pk, json.dumps(EUR))

    moving = plan_of(Operation.Kind.MOVE, "review")
    with pytest.raises(InvalidPatch):
        operations.set_patch(moving.pk, "{}")
    operations.start(moving.pk, now=NOON)
    for change in (operations.set_patch, lambda pk, _: operations.drop_patch(pk)):
        with pytest.raises(OperationNotPlanned):
            change(moving.pk, json.dumps(EUR))


def test_a_consumer_gets_what_was_patched() -> None:
    make_broken({"currency": "XBT"})
    operations.start(patched(EUR).pk, now=NOON)

    (delivery,) = UnitOfWork(now=NOON).get("orders")

    assert json.loads(delivery.body) == {"currency": "EUR"}
    assert delivery.properties["_BRK_RESUBMIT_COUNT"] == 1
