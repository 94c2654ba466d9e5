"""Dispositions: what becomes of deliveries, said of many at once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import Error
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.dispositions import ranges
from broker.amqp.protocol.endpoints import Sender
from broker.amqp.protocol.events import Disposed, Ended, MessageReceived
from broker.amqp.protocol.performatives import (
    Accepted,
    DeliveryState,
    Disposition,
    Flow,
    Modified,
    Rejected,
    Released,
    TransactionalState,
)
from broker.amqp.protocol.session import Session
from tests.amqp.ends import Ends, RawClient, begun, of, part

LAST = 2**32 - 1


def received(count: int) -> tuple[RawClient, Session, list[Delivery]]:
    """A server that has got so many messages."""
    client = begun()
    receiver = client.putting(credit=count)
    client.heard()
    told = client.say(*(part(number) for number in range(count)))
    session = receiver.session
    assert isinstance(session, Session)
    return client, session, [one.delivery for one in of(MessageReceived, told)]


def sent(count: int, client: RawClient | None = None) -> tuple[RawClient, Sender]:
    """A server that has sent so many messages."""
    client = client or begun()
    sender = client.getting()
    client.say(
        Flow(
            next_incoming_id=0,
            incoming_window=100,
            next_outgoing_id=0,
            outgoing_window=100,
            handle=0,
            link_credit=count,
        )
    )
    for number in range(count):
        sender.send(b"a", tag=b"%d" % number)
    client.server.outgoing()
    return client, sender


def told_of(client: RawClient) -> list[tuple[int, int | None]]:
    return [(said.first, said.last) for said in client.heard_of(Disposition)]


def test_what_is_settled_in_any_order_is_told_in_ranges() -> None:
    client, session, deliveries = received(8)
    order = [5, 0, 7, 1, 6, 3]
    session.settle([deliveries[number] for number in order], Accepted())
    assert told_of(client) == [(0, 1), (3, None), (5, 7)]
    assert list(session.incoming) == [2, 4]


def test_what_is_settled_is_settled_once() -> None:
    client, session, deliveries = received(2)
    session.settle(deliveries * 2, Accepted())
    session.settle(deliveries, Released())
    assert told_of(client) == [(0, 1)]
    assert deliveries[0].endpoint.unsettled == {}
    assert all(one.settled for one in deliveries)


def test_nothing_to_settle_says_nothing() -> None:
    client, session, _ = received(0)
    session.settle([], Accepted())
    assert client.heard() == []


def test_a_state_may_be_told_without_an_end() -> None:
    client, session, deliveries = received(2)
    state = TransactionalState(b"t", Accepted())
    session.settle(deliveries, state, settled=False)
    (said,) = client.heard_of(Disposition)
    assert said == Disposition(role=True, first=0, last=1, settled=False, state=state)
    assert list(session.incoming) == [0, 1]
    session.settle(deliveries, Accepted())
    assert told_of(client) == [(0, 1)]


def test_deliveries_of_both_directions_are_told_apart() -> None:
    ends = Ends()
    session = ends.begin()
    sender, _ = ends.putting(session, credit=1)
    _, gets = ends.getting(session, credit=1)
    sender.send(b"a", tag=b"a")
    outgoing = gets.send(b"b", tag=b"b")
    ends.run()
    (event,) = of(MessageReceived, ends.server_told)
    assert outgoing.id == event.delivery.id == 0

    gets.session.settle([outgoing, event.delivery], Accepted())
    ends.run()

    assert of(Disposed, ends.client_told)[0].endpoint is sender
    assert not session.incoming
    assert not session.outgoing


starts = st.integers(0, LAST) | st.integers(LAST - 40, LAST)


@given(st.sets(st.integers(0, 40), min_size=1), starts, st.randoms())
def test_ranges_are_the_ids_and_no_more(
    steps: set[int], start: int, random: object
) -> None:
    ids = [(start + step) % 2**32 for step in sorted(steps)]
    shuffled = list(ids)
    random.shuffle(shuffled)  # type: ignore[attr-defined]

    found = list(ranges(shuffled))

    again = [
        (first + step) % 2**32
        for first, last in found
        for step in range((last - first) % 2**32 + 1)
    ]
    assert again == ids
    for (_, last), (first, _) in pairwise(found):
        assert (first - last) % 2**32 > 1, "no two could be one"


@pytest.mark.parametrize(
    "state",
    [
        Accepted(),
        Rejected(Error("a:b", "c")),
        Released(),
        Modified(delivery_failed=True, message_annotations={"x-opt": 1}),
        TransactionalState(b"t", Released()),
        None,
    ],
)
def test_the_peer_s_outcome_is_told(state: DeliveryState | None) -> None:
    client, sender = sent(3)
    (event,) = client.say(
        Disposition(role=True, first=0, last=1, settled=True, state=state)
    )
    assert isinstance(event, Disposed)
    assert (event.endpoint, event.state, event.settled) == (sender, state, True)
    assert [one.tag for one in event.deliveries] == [b"0", b"1"]
    assert list(sender.unsettled) == list(sender.session.outgoing) == [2]


def test_an_outcome_that_is_not_the_end_waits_for_us_to_settle() -> None:
    client, sender = sent(1)
    (event,) = client.say(Disposition(role=True, first=0, state=Accepted()))
    assert isinstance(event, Disposed)
    assert not event.settled
    assert list(sender.unsettled) == [0]
    assert event.deliveries[0].state == Accepted()

    sender.session.settle(event.deliveries, Accepted())

    (said,) = client.heard_of(Disposition)
    assert said == Disposition(role=False, first=0, settled=True, state=Accepted())
    assert sender.unsettled == {}


def test_a_range_over_several_endpoints_is_told_to_each() -> None:
    ends = Ends()
    session = ends.begin()
    _, first = ends.getting(session, credit=5, name="first")
    _, second = ends.getting(session, credit=5, name="second")
    for number, sender in enumerate([first, second, first]):
        sender.send(b"a", tag=b"%d" % number)
    ends.run()
    got = [event.delivery for event in of(MessageReceived, ends.client_told)]

    session.settle(got, Accepted())
    ends.run()

    told = of(Disposed, ends.server_told)
    assert [event.endpoint for event in told] == [first, second]
    assert [[one.id for one in event.deliveries] for event in told] == [[0, 2], [1]]


@pytest.mark.parametrize(
    ("first", "last"), [(0, 2**31 - 2), (LAST, 9), (LAST - 2**30, 2**30 - 2)]
)
def test_a_huge_range_costs_what_there_is(first: int, last: int) -> None:
    client, sender = sent(3)
    (event,) = client.say(
        Disposition(role=True, first=first, last=last, settled=True, state=Accepted())
    )
    assert isinstance(event, Disposed)
    assert [one.id for one in event.deliveries] == [0, 1, 2]
    assert sender.unsettled == {}


def test_a_range_of_what_is_not_there_is_nothing() -> None:
    client, sender = sent(3)
    assert client.say(Disposition(role=True, first=3, last=900, settled=True)) == []
    assert client.say(Disposition(role=True, first=77, settled=True)) == []
    assert len(sender.unsettled) == 3


def test_a_range_that_ends_before_it_begins_ends_the_session() -> None:
    client, _ = sent(3)
    (ended,) = client.say(Disposition(role=True, first=2, last=1, settled=True))
    assert isinstance(ended, Ended)
    assert ended.error is not None
    assert ended.error.condition == conditions.INVALID_FIELD


def test_what_was_sent_settled_is_not_to_be_settled() -> None:
    ends = Ends()
    receiver, sender = ends.getting(ends.begin(), credit=1)
    delivery = sender.send(b"a", tag=b"a", settled=True)
    ends.run()
    (event,) = of(MessageReceived, ends.client_told)
    receiver.session.settle([event.delivery], Accepted())
    sender.session.settle([delivery], Accepted())
    assert ends.client.outgoing() == ends.server.outgoing() == b""
