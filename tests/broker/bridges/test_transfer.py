"""The eight steps of a transfer between two queues of this broker."""

from __future__ import annotations

import pytest

from broker.models import DeadLetter, Kind, Message, Queue
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.put import put
from tests.broker.bridges.linking import (
    carry,
    dead,
    make_bridge,
    make_link,
    make_queues,
    status,
    taken,
    turn,
)
from tests.make import NOON

pytestmark = pytest.mark.usefixtures("transactional_db")


@pytest.fixture(autouse=True)
def _queues(transactional_db: None) -> None:
    make_queues("orders", "booked")


@pytest.mark.spec("BRIDGE-1", "BRIDGE-2", "BRIDGE-8")
def test_messages_arrive_in_order_with_all_that_they_had_but_a_new_id() -> None:
    for number in range(5):
        put(
            "orders",
            b"%d" % number,
            content_type="text/plain",
            properties={"n": number, "ok": True, "x": 1.5, "s": "t"},
            priority=7,
            durable=False,
            message_id=f"ID:{number}",
            correlation_id="c",
            subject="kind",
            group_id="g",
        )
    link = make_link(loop_guard=False)

    assert carry(link) == 5

    got = taken("booked")
    assert [one.body for one in got] == [b"0", b"1", b"2", b"3", b"4"]
    assert {
        (one.content_type, one.priority, one.durable, one.correlation_id) for one in got
    } == {("text/plain", 7, False, "c")}
    assert {(one.subject, one.group_id) for one in got} == {("kind", "g")}
    assert [one.properties["n"] for one in got] == [0, 1, 2, 3, 4]
    assert all(
        one.properties | {"n": 0} == {"n": 0, "s": "t", "x": 1.5, "ok": True}
        for one in got
    )
    ids = {one.client_message_id for one in got}
    assert len(ids) == 5
    assert not ids & {f"ID:{number}" for number in range(5)}
    assert taken("orders") == []
    assert status(link).sent == status(link).received == 5


@pytest.mark.spec("BRIDGE-3")
def test_what_expires_on_its_way_is_one_dead_message_and_goes_no_further() -> None:
    put("orders", b"late", expires_at=NOON.replace(year=2999), message_id="ID:late")
    link = make_link()

    assert carry(link, now=NOON.replace(year=3000)) == 1

    assert taken("booked") == taken("orders") == []
    (one,) = dead()
    assert one.properties["JMS_SUN_JMSBRIDGE_DMQ_REASON"] == "MESSAGE_EXPIRED"
    assert one.client_message_id == "ID:late"
    assert one.expires_at is None
    assert status(link).expired == 1


@pytest.mark.spec("BRIDGE-4")
@pytest.mark.parametrize("retain", [True, False])
def test_the_reply_address_is_taken_away_unless_it_is_to_be_kept(
    *, retain: bool
) -> None:
    put("orders", b"", reply_to="answers")
    carry(make_link(retain_reply_to=retain))
    (one,) = taken("booked")
    assert one.reply_to == ("answers" if retain else None)


@pytest.mark.spec("BRIDGE-7")
@pytest.mark.parametrize("tag", [True, False])
def test_a_message_is_tagged_with_the_name_of_its_bridge_where_that_is_set(
    *, tag: bool
) -> None:
    put("orders", b"", properties={"kept": 1})
    carry(make_link(bridge=make_bridge("tagging", tag_messages=tag), loop_guard=False))
    (one,) = taken("booked")
    assert one.properties == {"kept": 1} | (
        {"JMS_SUN_JMSBRIDGE_NAME": "tagging"} if tag else {}
    )


@pytest.mark.spec("BRIDGE-9")
def test_what_the_target_refuses_is_one_dead_message_and_the_link_goes_on() -> None:
    Queue.objects.filter(name="booked").update(max_message_bytes=3)
    for body in (b"one", b"too long", b"two"):
        put("orders", body)
    link = make_link(transacted=False)

    assert carry(link) == 3

    assert [one.body for one in taken("booked")] == [b"one", b"two"]
    (one,) = dead()
    assert one.body == b"too long"
    assert one.properties["JMS_SUN_JMSBRIDGE_DMQ_REASON"] == "SEND_FAILURE"
    letter = DeadLetter.objects.get()
    assert letter.cause == DeadLetter.Cause.LINK
    assert letter.origin_queue == "orders"
    assert taken("orders") == []


def test_a_message_that_comes_to_its_link_again_is_a_dead_message() -> None:
    link = make_link()
    back = make_link("back", source="booked", target="orders")
    put("orders", b"round")

    assert [carry(link), carry(back), carry(link)] == [1, 1, 1]

    assert taken("booked") == taken("orders") == []
    (one,) = dead()
    assert one.properties["JMS_SUN_JMSBRIDGE_DMQ_REASON"] == "MESSAGE_LOOPED"
    assert status(link).looped == 1


def test_the_journal_tells_of_each_hop_at_both_of_its_ends() -> None:
    put("orders", b"", message_id="ID:before")
    before = Message.objects.get()
    link = make_link()
    carry(link)
    after = Message.objects.exclude(pk=before.pk).get()

    events = [e for e in journal.events_of(before.pk) if e.kind == Kind.TRANSFER]
    (event,) = events
    assert event.detail["link"] == "shop/out"
    assert event.detail["counted"] is True
    (event,) = [e for e in journal.events_of(after.pk) if e.kind == Kind.TRANSFER]
    assert event.detail["counted"] is False
    assert fsck.violations() == []


def test_a_link_is_read_in_turns_of_its_batch() -> None:
    for number in range(5):
        put("orders", b"%d" % number)
    with turn(make_link(batch=2)) as one:
        assert [one.carry() for _ in range(4)] == [2, 2, 1, 0]
    assert [one.body for one in taken("booked")] == [b"%d" % n for n in range(5)]
