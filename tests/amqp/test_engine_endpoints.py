"""Endpoints: attaches, refusals, names, handles and detaches."""

from __future__ import annotations

import pytest

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.connection import Connection, Limits
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.amqp.protocol.events import (
    Attached,
    Closed,
    Detached,
    Ended,
    MessageReceived,
)
from broker.amqp.protocol.performatives import (
    Attach,
    Coordinator,
    Detach,
    End,
    Released,
    Source,
    Target,
)
from tests.amqp.ends import Ends, begun, get_attach, link_flow, of, part, put_attach

NOT_FOUND = AmqpError(conditions.NOT_FOUND, "there is no queue orders")
TAKEN_OVER = conditions.Error(conditions.STOLEN, "a newer attach has its name")


def test_an_accepted_attach_says_what_was_granted() -> None:
    def attached(endpoint: Endpoint) -> None:
        endpoint.accept(
            source=Source("orders", filter={"a": "b"}),
            properties={"x": 1},
            offered=["one", "two"],
            initial_delivery_count=7,
        )

    ends = Ends(attached=attached)
    receiver, sender = ends.getting(ends.begin(), snd_settle_mode=1)

    assert receiver.attached
    assert sender.attached
    assert receiver.attach is not None
    assert receiver.source == Source("orders", filter={"a": "b"})
    assert receiver.target == Target("elsewhere")
    assert receiver.attach.offered_capabilities == ("one", "two")
    assert receiver.attach.properties == {"x": 1}
    assert (receiver.attach.snd_settle_mode, receiver.attach.rcv_settle_mode) == (1, 0)
    assert receiver.delivery_count == sender.delivery_count == 7


def test_a_coordinator_attaches_as_any_target() -> None:
    client = begun()
    attach = put_attach(0)
    attach.target = Coordinator(("amqp:local-transactions",))
    (event,) = client.say(attach)
    assert isinstance(event, Attached)
    event.endpoint.accept()
    (answer,) = client.heard_of(Attach)
    assert answer.target == attach.target


@pytest.mark.parametrize("attach", [put_attach(3), get_attach(3)])
def test_a_refused_attach_has_nothing_at_our_end(attach: Attach) -> None:
    client = begun()
    (event,) = client.say(attach)
    assert isinstance(event, Attached)

    event.endpoint.refuse(NOT_FOUND)

    answer, detach = (said for _, said in client.heard())
    assert isinstance(answer, Attach)
    assert isinstance(detach, Detach)
    ours = answer.source if attach.role else answer.target
    theirs = answer.target if attach.role else answer.source
    assert ours is None
    assert theirs is not None
    assert (answer.initial_delivery_count is not None) == attach.role
    assert (detach.closed, detach.error) == (True, NOT_FOUND.as_error())
    assert detach.handle == answer.handle

    assert client.say(Detach(3, closed=True)) == []
    assert client.heard() == []
    assert client.server.links == 0
    assert client.say(attach) != []  # the handle and the name are free again


def test_what_is_refused_or_accepted_twice_is_refused_or_accepted_once() -> None:
    client = begun()
    sender = client.getting()
    client.heard()
    sender.accept()
    sender.refuse(NOT_FOUND)
    assert client.heard() == []
    assert sender.attached


def test_a_client_is_told_of_the_refusal() -> None:
    ends = Ends(attached=lambda endpoint: endpoint.refuse(NOT_FOUND))
    receiver, _ = ends.getting(ends.begin(), credit=3)

    attached, detached = ends.client_told[-2:]
    assert isinstance(attached, Attached)
    assert attached.attach.source is None
    assert detached == Detached(receiver, closed=True, error=NOT_FOUND.as_error())
    assert receiver.credit == 0
    assert ends.server.links == ends.client.links == 0


@pytest.mark.parametrize("closed", [False, True])
def test_a_detach_is_answered_in_kind(closed: bool) -> None:
    ends = Ends()
    sender, receiver = ends.putting(ends.begin(), credit=5)
    sender.detach(closed=closed)
    sender.detach()
    ends.run()
    assert ends.server_told[-1] == Detached(receiver, closed=closed, error=None)
    assert ends.client_told[-1] == Detached(sender, closed=closed, error=None)
    assert receiver.gone
    assert sender.gone
    assert receiver.credit == sender.credit == 0


def test_what_is_gone_does_nothing_any_more() -> None:
    client = begun()
    receiver, sender = client.putting(0), client.getting(1)
    client.say(Detach(0), Detach(1))
    client.heard()

    for endpoint in (receiver, sender):
        endpoint.accept()
        endpoint.refuse(NOT_FOUND)
        endpoint.detach()
    receiver.grant(5)
    sender.drained()

    assert client.heard() == []
    with pytest.raises(ValueError, match="no credit"):
        sender.send(b"a", tag=b"a")


def test_a_detach_may_come_before_the_attach_is_decided() -> None:
    client = begun()
    attached, detached = client.say(get_attach(0), Detach(0, closed=True))
    assert isinstance(attached, Attached)
    assert detached == Detached(attached.endpoint, closed=True, error=None)
    answer, detach = (said for _, said in client.heard())
    assert isinstance(answer, Attach)
    assert answer.source is None
    assert isinstance(detach, Detach)
    attached.endpoint.accept()
    assert client.heard() == []


def test_a_client_may_detach_before_its_attach_is_answered() -> None:
    ends = Ends()
    session = ends.begin()
    sender = session.sender("a", Source("a"), Target("orders"))
    sender.detach()
    ends.run()
    assert ends.client_told[-1] == Detached(sender, closed=True, error=None)
    assert ends.client.links == ends.server.links == 0
    session.sender("a", Source("a"), Target("orders"))  # the name is free


def test_a_newer_attach_takes_the_name_over() -> None:
    client = begun()
    older = client.getting(handle=0, name="mine")
    client.heard()

    stolen, attached = client.say(get_attach(1, "mine"))

    assert stolen == Detached(older, closed=False, error=TAKEN_OVER)
    assert isinstance(attached, Attached)
    assert attached.endpoint is not older
    attached.endpoint.accept()
    detach, answer = (said for _, said in client.heard())
    assert isinstance(detach, Detach)
    assert isinstance(answer, Attach)
    assert (detach.closed, detach.error) == (False, TAKEN_OVER)
    assert detach.handle != answer.handle
    assert client.say(Detach(0, closed=True)) == []
    assert attached.endpoint.attached
    assert older.gone


def test_an_attach_in_another_session_takes_the_name_over() -> None:
    client = begun()
    older = client.getting(handle=0, name="mine")
    other_role = client.putting(1, name="mine")
    client.begin(channel=1)
    client.heard()

    stolen, attached = client.say(get_attach(0, "mine"), channel=1)

    assert stolen == Detached(older, closed=False, error=TAKEN_OVER)
    assert isinstance(attached, Attached)
    ((channel, detach),) = client.heard()
    assert channel == older.session.channel
    assert isinstance(detach, Detach)
    assert (detach.handle, detach.error) == (older.handle, TAKEN_OVER)
    assert other_role.attached


def test_a_sender_and_a_receiver_may_have_the_same_name() -> None:
    client = begun()
    receiver = client.putting(0, name="both")
    sender = client.getting(1, name="both")
    assert receiver.attached
    assert sender.attached


def test_we_do_not_take_our_own_names_over() -> None:
    session = Ends().begin()
    session.sender("a", None, None)
    session.receiver("a", None, None)
    with pytest.raises(ValueError, match="a is attached"):
        session.sender("a", None, None)


def test_a_handle_in_use_ends_the_session() -> None:
    client = begun()
    client.putting(0)
    (ended,) = client.say(put_attach(0, "other"))
    assert ended_for(ended) == conditions.HANDLE_IN_USE


@pytest.mark.parametrize("said", [part(0, 4), Detach(4), link_flow(4)])
def test_an_unknown_handle_ends_the_session(said: Detach) -> None:
    client = begun()
    client.putting(0)
    (ended,) = client.say(said)
    assert ended_for(ended) == conditions.UNATTACHED_HANDLE
    assert client.heard_of(End)


@pytest.mark.parametrize(("handle", "is_good"), [(2, True), (3, True), (4, False)])
def test_handles_end_where_we_said(handle: int, is_good: bool) -> None:
    client = begun(Limits(handles=4))
    (event,) = client.say(put_attach(handle))
    assert isinstance(event, Attached) == is_good
    if not is_good:
        assert client.closed_for() == conditions.FRAMING_ERROR


def test_endpoints_beyond_the_limit_are_refused_and_room_is_found_again() -> None:
    client = begun(Limits(links=2))
    client.putting(0, "0")
    client.putting(1, "1")
    client.heard()

    assert client.say(put_attach(2, "2")) == []
    _, detach = (said for _, said in client.heard())
    assert isinstance(detach, Detach)
    assert detach.error is not None
    assert detach.error.condition == conditions.RESOURCE_LIMIT_EXCEEDED

    client.say(Detach(2, closed=True), Detach(0, closed=True))
    client.putting(3, "3")


def test_who_asks_on_and_on_beyond_the_limit_loses_the_session() -> None:
    client = begun(Limits(links=2))
    told = client.say(*(put_attach(handle, f"{handle}") for handle in range(5)))
    assert len(of(Attached, told)) == 2
    assert ended_for(told[-1]) == conditions.RESOURCE_LIMIT_EXCEEDED
    assert client.server.links == 0


def test_a_peer_with_few_handles_is_not_given_more() -> None:
    client = begun()
    client.say(End())
    client.begin(handle_max=0)
    client.getting(0, "0")
    told = client.say(get_attach(1, "1"))
    assert isinstance(told[-1], Attached)
    client.heard()
    told[-1].endpoint.refuse(NOT_FOUND)
    (ended,) = client.hear(b"")
    assert [type(said) for _, said in client.heard()] == [End]
    assert ended_for(ended) == conditions.RESOURCE_LIMIT_EXCEEDED


def test_handles_are_used_again_from_the_lowest() -> None:
    client = begun()
    first = client.getting(0, "0")
    client.getting(1, "1")
    client.say(Detach(0, closed=True))
    assert first.handle == client.getting(5, "2").handle == 0


def test_unsettled_deliveries_are_left_to_the_user_at_the_end() -> None:
    ends = Ends()
    session = ends.begin()
    receiver, sender = ends.getting(session, credit=2)
    for tag in (b"a", b"b"):
        sender.send(tag, tag=tag)
    ends.run()

    receiver.detach()
    ends.run()

    assert [one.tag for one in sender.unsettled.values()] == [b"a", b"b"]
    assert sender.session.outgoing == {}
    sender.session.settle(list(sender.unsettled.values()), Released())
    assert ends.server.outgoing() == b""


def test_what_waits_for_the_window_goes_with_its_endpoint() -> None:
    ends = Ends(client=Limits(incoming_window=2))
    session = ends.begin()
    _, first = ends.getting(session, credit=5, name="first")
    _, second = ends.getting(session, credit=5, name="second")
    for number in range(3):
        first.send(b"first", tag=b"%d" % number)
        second.send(b"second", tag=b"%d" % number)
    first.detach()
    ends.run()
    got = [event.delivery.payload for event in of(MessageReceived, ends.client_told)]
    assert got == [b"first", b"second", b"second", b"second"]
    assert not [event for event in ends.client_told if isinstance(event, Closed)]


def test_the_kinds_of_endpoints_are_what_they_do() -> None:
    session = Connection("a", is_server=False).begin()
    assert isinstance(session.sender("a", None, None), Sender)
    assert isinstance(session.receiver("b", None, None), Receiver)
    assert [one.name for one in session.endpoints()] == ["a", "b"]


def ended_for(event: object) -> str:
    assert isinstance(event, Ended)
    assert event.error is not None
    return event.error.condition
