"""Sessions: channels and windows."""

from __future__ import annotations

from typing import Any

import pytest

from broker.amqp.protocol import conditions
from broker.amqp.protocol.connection import Limits
from broker.amqp.protocol.events import Begun, Ended, MessageReceived, Resumed
from broker.amqp.protocol.performatives import (
    Accepted,
    Attach,
    Begin,
    End,
    Flow,
)
from tests.amqp.ends import Ends, begun, of, opened, part, put_attach

BEGIN = Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9)
LAST = 2**32 - 1


def test_channels_are_used_again() -> None:
    ends = Ends()
    first, second = ends.begin(), ends.begin()
    assert [first.channel, second.channel] == [0, 1]
    first.end()
    ends.run()
    assert ends.begin().channel == 0
    assert len(ends.server.sessions) == 2


def test_a_channel_is_for_one_session() -> None:
    client = begun()
    client.say(BEGIN)
    assert client.closed_for() == conditions.FRAMING_ERROR


@pytest.mark.parametrize(("channel", "is_good"), [(6, True), (7, True), (8, False)])
def test_channels_end_where_we_said(channel: int, is_good: bool) -> None:
    client = opened(Limits(channel_max=7))
    (event,) = client.say(BEGIN, channel=channel)
    assert isinstance(event, Begun) == is_good
    if not is_good:
        assert client.closed_for() == conditions.FRAMING_ERROR


def test_a_session_too_many_ends_at_once_and_the_others_go_on() -> None:
    client = opened(Limits(sessions=2))
    for channel in range(2):
        client.begin(channel)
    assert client.heard_of(End) == []

    assert client.say(BEGIN, channel=2) == []

    begin, end = (said for _, said in client.heard())
    assert isinstance(begin, Begin)
    assert begin.remote_channel == 2
    assert isinstance(end, End)
    assert end.error is not None
    assert end.error.condition == conditions.RESOURCE_LIMIT_EXCEEDED
    assert client.say(put_attach(0), channel=2) == []
    assert client.say(put_attach(0), channel=1) != []
    assert client.say(End(), channel=2) == []
    assert client.say(End(), channel=1) != []
    client.begin(2)


def test_a_client_cannot_begin_more_sessions_than_the_server_takes() -> None:
    ends = Ends(server=Limits(channel_max=1))
    ends.begin()
    ends.begin()
    with pytest.raises(ValueError, match="no more sessions"):
        ends.client.begin()


def test_a_client_that_takes_fewer_channels_than_it_begins_is_closed() -> None:
    client = opened(channel_max=0)
    client.begin(0)
    client.heard()
    client.say(BEGIN, channel=1)
    assert client.closed_for() == conditions.NOT_ALLOWED


@pytest.mark.parametrize("said", [put_attach(0), part(0), End()])
def test_nothing_can_be_said_on_a_channel_without_a_session(said: Attach) -> None:
    client = begun()
    client.say(said, channel=5)
    assert client.closed_for() == conditions.FRAMING_ERROR


def test_an_answer_to_a_begin_that_was_not_is_refused() -> None:
    client = opened()
    client.say(
        Begin(
            remote_channel=0, next_outgoing_id=0, incoming_window=9, outgoing_window=9
        )
    )
    assert client.closed_for() == conditions.FRAMING_ERROR


def test_the_peer_is_told_of_the_window_when_half_of_it_is_used() -> None:
    client = begun(Limits(incoming_window=4))
    client.putting(credit=10)
    client.heard()
    client.say(part(0))
    assert client.heard_of(Flow) == []
    client.say(part(1))
    (flow,) = client.heard_of(Flow)
    assert (flow.next_incoming_id, flow.incoming_window) == (2, 4)
    assert flow.handle is None


@pytest.mark.parametrize(("count", "is_good"), [(3, True), (4, True), (5, False)])
def test_the_peer_may_send_as_many_frames_as_it_was_told(
    count: int, is_good: bool
) -> None:
    client = begun(Limits(incoming_window=4))
    client.putting(credit=10)
    client.heard()

    told = client.say(*(part(number) for number in range(count)))

    assert len(of(MessageReceived, told)) == min(count, 4)
    ended = of(Ended, told)
    assert bool(ended) != is_good
    for event in ended:
        assert event.error is not None
        assert event.error.condition == conditions.WINDOW_VIOLATION


def test_what_the_peer_s_window_keeps_back_goes_when_it_opens() -> None:
    ends = Ends(client=Limits(incoming_window=3))
    session = ends.begin()
    receiver, sender = ends.getting(session, credit=10)
    for number in range(10):
        sender.send(b"m%d" % number, tag=b"%d" % number)
    assert len(sender.session.outlet.waiting) == 7

    ends.run()

    assert sender.session.can_send
    assert of(Resumed, ends.server_told) == [Resumed(sender.session)]
    got = [event.delivery.payload for event in of(MessageReceived, ends.client_told)]
    assert got == [b"m%d" % number for number in range(10)]
    assert receiver.credit == sender.credit == 0


def test_a_window_that_shrinks_keeps_messages_back() -> None:
    client = begun()
    sender = client.getting()
    client.say(flow(incoming_window=0, handle=0, link_credit=5))
    sender.send(b"a", tag=b"a")
    client.say(flow(incoming_window=0, handle=0, link_credit=5))
    assert not sender.session.can_send
    told = client.say(flow(incoming_window=1))
    assert told == []  # one went, and the window is shut again
    assert client.say(flow(next_incoming_id=1, incoming_window=1)) == [
        Resumed(sender.session)
    ]


def test_a_window_may_be_as_large_as_a_number_can_be() -> None:
    client = opened()
    session = client.begin(incoming_window=LAST)
    assert session.can_send
    client.say(flow(incoming_window=LAST))
    assert session.outlet.room == LAST


def test_a_peer_that_has_seen_what_was_not_sent_gains_nothing() -> None:
    client = begun()
    sender = client.getting()
    client.say(flow(next_incoming_id=50, incoming_window=10))
    assert sender.session.outlet.room == 10


def test_a_flow_of_the_session_is_answered_when_it_asks() -> None:
    client = begun()
    client.say(flow())
    assert client.heard_of(Flow) == []
    assert client.say(flow(echo=True)) == []
    (answer,) = client.heard_of(Flow)
    assert (answer.handle, answer.next_incoming_id, answer.echo) == (None, 0, False)


def test_windows_and_ids_pass_zero() -> None:
    ends = Ends(
        first_id=LAST - 2,
        server=Limits(incoming_window=4),
        client=Limits(incoming_window=4),
    )
    session = ends.begin()
    sender, receiver = ends.putting(session, credit=20)
    get, server_sender = ends.getting(session, credit=20)
    for number in range(20):
        sender.send(b"p%d" % number, tag=b"%d" % number)
        server_sender.send(b"g%d" % number, tag=b"%d" % number)
    ends.run()

    for told, side, kind in (
        (ends.server_told, receiver.session, b"p"),
        (ends.client_told, get.session, b"g"),
    ):
        got = [event.delivery for event in of(MessageReceived, told)]
        assert [one.payload for one in got] == [kind + b"%d" % n for n in range(20)]
        assert [one.id for one in got][:5] == [LAST - 2, LAST - 1, LAST, 0, 1]
        side.settle(got, Accepted())
    ends.run()
    assert not sender.unsettled
    assert not server_sender.unsettled
    assert session.next_incoming_id == 17


def test_a_session_that_fails_leaves_the_others() -> None:
    client = opened()
    for channel in range(2):
        client.begin(channel)
    client.say(part(0, handle=7), channel=0)
    assert of(Ended, client.told)[0].session.remote_channel == 0
    assert client.say(part(1), channel=0) == []  # it may not know yet
    assert client.say(End(), channel=0) == []
    assert client.say(put_attach(0), channel=1) != []


def flow(**fields: Any) -> Flow:
    usual: dict[str, Any] = {"next_incoming_id": 0, "incoming_window": 100}
    said = usual | {"next_outgoing_id": 0, "outgoing_window": 100} | fields
    return Flow(**said)
