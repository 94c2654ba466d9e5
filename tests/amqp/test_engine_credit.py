"""Credit: granted, used, drained, and told when asked."""

from __future__ import annotations

import pytest

from broker.amqp.protocol import conditions
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.connection import Limits
from broker.amqp.protocol.events import (
    Attached,
    Closed,
    Detached,
    Drained,
    Flowed,
    MessageReceived,
)
from broker.amqp.protocol.performatives import (
    Attach,
    Begin,
    Detach,
    Flow,
    Source,
    Target,
)
from tests.amqp.ends import (
    Ends,
    begun,
    get_attach,
    link_flow,
    of,
    opened,
    part,
    put_attach,
)


def test_credit_that_comes_before_the_attach_is_accepted_is_not_lost() -> None:
    ends = Ends(attached=lambda _: None)
    receiver, sender = ends.getting(ends.begin(), credit=5)
    assert of(Flowed, ends.server_told) == [Flowed(sender)]
    assert not sender.attached

    sender.accept(initial_delivery_count=3)
    ends.run()

    assert sender.credit == receiver.credit == 5
    sender.send(b"a", tag=b"a")
    ends.run()
    assert sender.credit == receiver.credit == 4
    assert sender.delivery_count == receiver.delivery_count == 4


@pytest.mark.parametrize("attach", [put_attach(7), get_attach(7)])
def test_an_echo_that_comes_before_the_attach_is_accepted_is_answered_after_it(
    attach: Attach,
) -> None:
    client = opened()
    begin = Begin(next_outgoing_id=0, incoming_window=100, outgoing_window=100)

    told = client.say(begin, attach, link_flow(7, echo=True, link_credit=5))
    before = client.heard_of(Flow)
    (attached,) = of(Attached, told)
    attached.endpoint.accept(initial_delivery_count=3)

    kinds = [type(said) for _, said in client.heard()]
    assert (before, kinds) == ([], [Attach, Flow])
    assert of(Closed, client.told) == []


def test_the_answer_to_an_early_echo_has_the_state_of_its_link() -> None:
    client = begun()
    client.say(get_attach(7), link_flow(7, echo=True, link_credit=5))
    (attached,) = of(Attached, client.told)

    attached.endpoint.accept(initial_delivery_count=3)

    (flow,) = client.heard_of(Flow)
    assert (flow.handle, flow.delivery_count, flow.link_credit) == (0, 3, 5)
    assert not flow.echo
    client.say(link_flow(7, echo=True, link_credit=5))
    assert len(client.heard_of(Flow)) == 1


def test_an_early_echo_of_a_link_that_is_refused_is_not_answered() -> None:
    client = begun()
    client.say(get_attach(7), link_flow(7, echo=True, link_credit=5))
    (attached,) = of(Attached, client.told)

    attached.endpoint.refuse(AmqpError(conditions.NOT_FOUND, "no such queue"))

    assert [type(said) for _, said in client.heard()] == [Attach, Detach]


def test_a_grant_before_the_attach_is_answered_counts_from_wherever_it_begins() -> None:
    ends = Ends(attached=lambda endpoint: endpoint.accept(initial_delivery_count=9))
    session = ends.begin()
    receiver = session.receiver("get", Source("orders"), Target("a"))
    ends.carry_to_server()
    receiver.grant(4)  # the answer is under way
    ends.run()
    sender = ends.server_side(receiver)
    assert sender.credit == receiver.credit == 4
    assert sender.delivery_count == receiver.delivery_count == 9


def test_a_drain_is_answered_behind_the_messages_that_wait_for_the_window() -> None:
    ends = Ends(client=Limits(incoming_window=1))
    receiver, sender = ends.getting(ends.begin())
    receiver.grant(5, drain=True)
    ends.run()
    for number in range(3):
        sender.send(b"a", tag=b"%d" % number)
    sender.drained()
    sender.session.send_flow(sender)  # as an echo would
    ends.run()
    kinds = [type(event) for event in ends.client_told[-4:]]
    assert kinds == [MessageReceived, MessageReceived, MessageReceived, Drained]
    assert sender.credit == receiver.credit == 0
    assert sender.delivery_count == receiver.delivery_count == 5


def test_credit_is_what_was_granted_less_what_came() -> None:
    ends = Ends()
    sender, receiver = ends.putting(ends.begin(), credit=3)
    sender.send(b"a", tag=b"a")
    receiver.grant(10)  # while the message is under way
    ends.run()
    assert receiver.credit == sender.credit == 9
    receiver.grant(2)
    ends.run()
    assert receiver.credit == sender.credit == 2


@pytest.mark.parametrize(("count", "is_good"), [(2, True), (3, True), (4, False)])
def test_a_message_beyond_the_credit_detaches(count: int, is_good: bool) -> None:
    client = begun()
    receiver = client.putting(credit=3)
    told = client.say(*(part(number) for number in range(count)))
    assert len(of(MessageReceived, told)) == min(count, 3)
    detached = of(Detached, told)
    assert bool(detached) != is_good
    for event in detached:
        assert event.endpoint is receiver
        assert event.error is not None
        assert event.error.condition == conditions.TRANSFER_LIMIT_EXCEEDED
        assert client.say(part(9)) == []  # the peer may not know yet
        assert client.say(Detach(0, closed=True)) == []
        assert client.server.links == 0


def test_messages_by_an_older_and_higher_grant_are_taken() -> None:
    client = begun()
    receiver = client.putting(credit=3)
    receiver.grant(0)
    assert receiver.credit == 0
    told = client.say(part(0), part(1))
    receiver.grant(1)
    told += client.say(part(2))
    assert len(of(MessageReceived, told)) == 3
    assert of(Detached, client.say(part(3)))


def test_a_drain_takes_back_the_credit_that_is_not_used() -> None:
    ends = Ends()
    receiver, sender = ends.getting(ends.begin(), credit=5)
    sender.send(b"a", tag=b"a")
    ends.run()
    receiver.grant(4, drain=True)
    ends.run()
    assert sender.drain
    assert ends.server_told[-1] == Flowed(sender)

    sender.send(b"b", tag=b"b")
    sender.drained()
    ends.run()

    assert ends.client_told[-1] == Drained(receiver)
    assert sender.credit == receiver.credit == 0
    assert sender.delivery_count == receiver.delivery_count == 5
    assert not receiver.drain
    receiver.grant(1)
    ends.run()
    assert sender.credit == 1
    assert not sender.drain


def test_the_answer_to_a_drain_says_that_it_is_one() -> None:
    client = begun()
    sender = client.getting()
    client.say(link_flow(link_credit=4, delivery_count=0, drain=True))
    client.heard()
    sender.drained()
    (answer,) = client.heard_of(Flow)
    assert (answer.link_credit, answer.delivery_count) == (0, 4)
    assert answer.drain


def test_a_drain_without_credit_is_answered_too() -> None:
    client = begun()
    sender = client.getting()
    client.say(link_flow(link_credit=0, drain=True))
    client.heard()
    sender.drained()
    assert len(client.heard_of(Flow)) == 1


def test_an_echo_is_answered_with_where_we_stand() -> None:
    client = begun()
    client.getting(0)
    client.putting(1, credit=6)
    client.heard()

    client.say(link_flow(0, link_credit=4, delivery_count=0, echo=True))
    client.say(link_flow(1, delivery_count=0, link_credit=6, echo=True))

    sends, receives = client.heard_of(Flow)
    assert (sends.link_credit, sends.delivery_count, sends.echo) == (4, 0, False)
    assert (receives.link_credit, receives.delivery_count) == (6, 0)


def test_a_flow_without_credit_leaves_it() -> None:
    client = begun()
    sender = client.getting()
    client.say(link_flow(link_credit=4, delivery_count=0))
    client.say(link_flow())
    assert sender.credit == 4


def test_credit_counts_from_what_the_peer_has_seen() -> None:
    client = begun()
    sender = client.getting()
    client.say(link_flow(link_credit=4, delivery_count=0))
    for number in range(3):
        sender.send(b"a", tag=b"%d" % number)
    client.say(link_flow(link_credit=4, delivery_count=1))
    assert sender.credit == 2
    client.say(link_flow(link_credit=1, delivery_count=0))
    assert sender.credit == 0
    client.say(link_flow(link_credit=9, delivery_count=77))  # never so many
    assert sender.credit == 9


@pytest.mark.parametrize("echo", [True, False])
def test_a_peer_that_is_asked_tells_the_credit_that_it_has(echo: bool) -> None:
    ends = Ends()
    receiver, _ = ends.getting(ends.begin(), credit=5)
    receiver.grant(0, echo=echo)
    assert receiver.told_credit is None
    ends.run()
    assert receiver.told_credit == (0 if echo else None)
