"""Clients that get: what comes, in which order, and how much of it."""

from __future__ import annotations

import logging

import pytest

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import DETACH_FORCED, RESOURCE_DELETED
from broker.amqp.protocol.sections import split
from broker.amqp.protocol.types.types import Described, Symbol
from broker.models import Claim, Ready, UnitOfWork
from broker.queueing.put import NewMessage, put, put_many
from broker.settlement.outcomes import BackOut
from broker.settlement.settle import end
from broker.sql import database_now
from tests.amqp.getting import SETTLED, attach, bodies, counts, getting, listener
from tests.amqp.listening import Listening
from tests.console.until import until
from tests.make import make_messages, make_queue, seconds

pytestmark = pytest.mark.usefixtures("transactional_db")

NO_LOCAL = {
    Symbol("no-local"): Described(Symbol("apache.org:no-local-filter:list"), [])
}


def wanting(selector: str) -> dict[Symbol, Described]:
    named = Symbol("apache.org:selector-filter:string")
    return {Symbol("selector"): Described(named, selector)}


def held() -> int:
    """Entries that are with clients."""
    return sum(len(claim.ids) for claim in Claim.objects.all())


def nothing_is_held() -> None:
    """Wait until all that was said is committed."""
    until(lambda: held() == 0)


def test_what_is_there_comes_by_priority_and_then_by_age() -> None:
    make_queue()
    put_many([NewMessage("orders", b"a"), NewMessage("orders", b"b", priority=9)])
    put("orders", b"c")
    with listener() as here:
        client = getting(here)
        client.grant(10)
        assert bodies(client.get(3)) == [b"b", b"a", b"c"]


def test_what_comes_later_is_sent_at_once() -> None:
    make_queue()
    with listener() as here:
        client = getting(here)
        client.grant(10)
        for number in range(5):
            put("orders", b"%d" % number)
            assert bodies(client.get()) == [b"%d" % number]


def test_no_more_is_taken_than_there_is_credit_for() -> None:
    make_queue()
    put_many(make_messages(10))
    with listener() as here:
        client = getting(here)
        client.grant(3)
        assert bodies(client.get(3)) == [b"1", b"2", b"3"]
        assert (held(), Ready.objects.count()) == (3, 7)
        client.grant(1)
        assert bodies(client.get()) == [b"4"]


def test_no_more_is_taken_than_the_broker_allows() -> None:
    make_queue()
    put_many(make_messages(10))
    with listener(max_in_flight=4) as here:
        client = getting(here)
        client.grant(100)
        first = client.get(4)
        assert held() == 4
        client.say(first[:2], p.Accepted())
        assert bodies(client.get(2)) == [b"5", b"6"]
        assert (held(), Ready.objects.count()) == (4, 4)


def test_no_more_bytes_are_taken_than_a_connection_may_hold() -> None:
    make_queue()
    put_many([NewMessage("orders", bytes(1000)) for _ in range(40)])
    with listener(max_in_flight_bytes=5000) as here:
        client = getting(here)
        client.grant(100)
        first = client.get(4)
        here.until(lambda: not here.listener.pool.calls.qsize())
        (there,) = here.listener.clients
        assert there.in_flight_bytes <= 6500
        client.say(first, p.Accepted())
        client.get(4)


def test_a_drain_is_answered_when_there_is_nothing_more() -> None:
    make_queue()
    put_many(make_messages(3))
    with listener() as here:
        client = getting(here)
        assert client.take_all(10) == [b"1", b"2", b"3"]
        assert client.receiver.credit == 0
        assert client.take_all(1) == []
        put("orders", b"4")
        assert client.take_all(1) == [b"4"]


def test_a_drain_of_one_who_waits_is_answered() -> None:
    make_queue()
    with listener() as here:
        client = getting(here)
        client.grant(10)
        here.until(lambda: here.listener.waking.lines)
        assert client.take_all(10) == []


def test_what_credit_was_withdrawn_for_goes_back() -> None:
    make_queue()
    put_many(make_messages(3))
    with listener() as here:
        client = getting(here)
        client.grant(2)
        client.get(2)
        client.grant(0)
        client.say(client.got, p.Accepted())
        nothing_is_held()
        assert Ready.objects.count() == 1


def test_a_tag_has_sixteen_bytes_and_none_is_used_twice() -> None:
    make_queue()
    put_many(make_messages(2))
    with listener() as here:
        client = getting(here)
        client.grant(10)
        first = client.get(2)
        client.say(first, p.Released())
        tags = [one.tag for one in first + client.get(2)]
        assert {len(tag) for tag in tags} == {16}
        assert len(set(tags)) == 4


def test_what_is_wanted_settled_is_accepted_before_it_comes() -> None:
    make_queue()
    put_many(make_messages(3))
    with listener() as here:
        client = getting(here, mode=SETTLED)
        client.grant(2)
        assert bodies(client.get(2)) == [b"1", b"2"]
        assert all(one.settled for one in client.got)
        assert (held(), Ready.objects.count()) == (0, 1)
        client.wire.drop()
    assert Ready.objects.count() == 1


def test_a_selector_chooses() -> None:
    make_queue()
    put_many(
        [
            NewMessage("orders", b"%d" % number, properties={"odd": number % 2})
            for number in range(6)
        ]
    )
    with listener() as here:
        client = getting(here, filter=wanting("odd = 1"))
        client.grant(10)
        assert bodies(client.get(3)) == [b"1", b"3", b"5"]
        put("orders", b"6", properties={"odd": 0})
        put("orders", b"7", properties={"odd": 1})
        assert bodies(client.get()) == [b"7"]


def test_two_who_choose_differently_both_get_theirs() -> None:
    make_queue()
    with listener() as here:
        wire = here.client()
        odd = attach(wire, name="odd", filter=wanting("odd = 1"))
        even = attach(wire, name="even", filter=wanting("odd = 0"))
        odd.grant(10)
        even.grant(10)
        here.until(lambda: waiters(here) == 2)
        for number in range(4):
            put("orders", b"%d" % number, properties={"odd": number % 2})
        assert bodies(even.get(2)) == [b"0", b"2"]
        assert bodies(odd.get(2)) == [b"1", b"3"]


def waiters(here: Listening) -> int:
    return sum(
        len(line.waiters)
        for lines in here.listener.waking.lines.values()
        for line in lines.all()
    )


def test_competing_clients_share_what_comes() -> None:
    make_queue()
    with listener() as here:
        clients = [getting(here) for _ in range(3)]
        for client in clients:
            client.grant(1)
        here.until(lambda: waiters(here) == 3)
        put_many(make_messages(3))
        got = [bodies(client.get())[0] for client in clients]
        assert sorted(got) == [b"1", b"2", b"3"]


def test_a_delayed_message_comes_when_it_is_due() -> None:
    make_queue()
    with listener() as here:
        client = getting(here)
        client.grant(1)
        due_at = database_now() + seconds(0.3)
        put("orders", b"late", deliver_at=due_at)
        assert bodies(client.get()) == [b"late"]
        assert database_now() >= due_at


def test_an_expired_message_never_comes() -> None:
    make_queue()
    put("orders", b"old", expires_at=database_now() - seconds(1))
    put("orders", b"new", expires_at=database_now() + seconds(600))
    with listener() as here:
        client = getting(here)
        assert client.take_all() == [b"new"]
        header = split(client.got[0].payload).header
        assert header is not None
        assert header.ttl is not None
        assert 590_000 < header.ttl <= 600_000


def test_what_the_same_client_has_put_does_not_come_if_it_says_so() -> None:
    make_queue()
    with listener() as here:
        wire = here.client(container_id="me")
        client = attach(wire, filter=NO_LOCAL)
        put("orders", b"mine", producer="me")
        put("orders", b"theirs", producer="them")
        client.grant(10)
        assert bodies(client.get()) == [b"theirs"]
        client.say(client.got, p.Accepted())
        nothing_is_held()
    assert not Ready.objects.exists()


def test_a_message_that_cannot_be_encoded_stays_and_holds_nothing_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_queue()
    put("orders", b"1")
    bad = put("orders", b"2", envelope=b"\xff nothing that we have written").message_id
    put("orders", b"3")
    with listener() as here:
        client = getting(here)
        with caplog.at_level(logging.ERROR):
            assert client.take_all() == [b"1", b"3"]
        assert client.take_all() == []
        stays = Ready.objects.get()
        assert (stays.id, stays.backout_count) == (bad, 0)
    assert f"Message {bad} of orders cannot be sent" in caplog.text


def test_a_message_too_large_for_the_client_stays() -> None:
    make_queue()
    put_many([NewMessage("orders", bytes(5000)), NewMessage("orders", b"small")])
    with listener() as here:
        wire = here.client()
        session = wire.connection.begin()
        receiver = session.receiver(
            "small", p.Source(address="orders"), p.Target(), max_message_size=1000
        )
        client = attach(wire, session=session, name="other")
        client.receiver = receiver
        assert client.take_all() == [b"small"]


def test_a_long_message_comes_in_many_frames() -> None:
    make_queue()
    body = bytes(range(256)) * 2000
    put("orders", body)
    with listener() as here:
        client = getting(here)
        client.grant(1)
        assert bodies(client.get()) == [body]


def test_two_thousand_come_in_order() -> None:
    make_queue()
    put_many(make_messages(2000))
    with listener() as here:
        client = getting(here)
        client.grant(2000)
        assert bodies(client.get(2000)) == [b"%d" % n for n in range(1, 2001)]
        client.say(client.got, p.Accepted())
        nothing_is_held()
    assert not Ready.objects.exists()


def test_a_unit_of_work_that_somebody_ended_ends_the_endpoint() -> None:
    make_queue()
    put_many(make_messages(2))
    with listener() as here:
        client = getting(here)
        client.grant(1)
        client.get()
        end(UnitOfWork.objects.get().pk, BackOut("an operator did"))
        client.say(client.got, p.Accepted())
        assert client.detached().condition == DETACH_FORCED
        assert Ready.objects.count() == 2


def test_a_queue_that_is_deleted_ends_the_endpoint() -> None:
    queue = make_queue()
    with listener() as here:
        client = getting(here)
        queue.delete()
        client.grant(1)
        assert client.detached().condition == RESOURCE_DELETED


def test_a_paused_queue_gives_nothing_until_it_goes_on() -> None:
    queue = make_queue(paused=True)
    put("orders", b"1")
    with listener() as here:
        client = getting(here)
        assert client.take_all() == []
        client.grant(1)
        queue.paused = False
        queue.save()
        assert bodies(client.get()) == [b"1"]


def test_what_came_back_says_how_often() -> None:
    make_queue()
    put("orders", b"1")
    with listener() as here:
        client = getting(here)
        client.grant(1)
        assert counts(client.get()) == [0]
        client.grant(1)
        client.say(client.got, p.Modified(delivery_failed=True))
        assert counts(client.get()) == [1]
