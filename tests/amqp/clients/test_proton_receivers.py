"""Ways in which proton gets: browsing, selecting, by credit, from topics."""

from __future__ import annotations

from typing import Any

import pytest

from broker.models import Subscription
from tests.amqp.clients.protons import WITHIN_S, Proton, connected, proton, reactor
from tests.amqp.listening import Listening
from tests.console.until import until

TOPIC = proton.symbol("topic")


class Capability(reactor.LinkOption):  # type: ignore[misc]
    """What the source is to be able to do."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def apply(self, endpoint: Any) -> None:
        terminus = endpoint.source if endpoint.is_receiver else endpoint.target
        terminus.capabilities.put_array(False, proton.Data.SYMBOL)  # noqa: FBT003
        terminus.capabilities.enter()
        for name in self.names:
            terminus.capabilities.put_symbol(name)
        terminus.capabilities.exit()


@pytest.mark.case(15)
def test_a_browser_sees_all_and_takes_nothing(here: Listening) -> None:
    with connected(here) as client:
        client.put(1, 2, 3)

        assert client.seen() == [1, 2, 3]
        assert client.seen() == [1, 2, 3]
        assert [one.body for one in client.all()] == [1, 2, 3]


@pytest.mark.case(15, 16)
def test_a_browser_has_a_selector(here: Listening) -> None:
    with connected(here) as client:
        for number in range(6):
            client.put(number, properties={"number": number})

        seen = client.seen("orders", reactor.Selector("number BETWEEN 2 AND 4"))

        assert seen == [2, 3, 4]
        assert len(client.all()) == 6


SELECTORS = {
    "color = 'red'": [0],
    "color <> 'red'": [1],
    "color LIKE '%e' OR size > 7": [1, 2],
    "color IN ('red', 'blue')": [0, 1],
    "size BETWEEN 2 AND 8": [1, 2],
    "size IS NULL": [0],
    "NOT (size > 5)": [1],
    "JMSPriority > 4": [2],
    "JMSCorrelationID = 'c-1'": [1],
}


@pytest.mark.case(16)
def test_selectors_choose(here: Listening) -> None:
    with connected(here) as client:
        client.put(0, properties={"color": "red"})
        client.put(
            1, properties={"color": "blue", "size": 5}, correlation_id="c-1", priority=4
        )
        client.put(2, properties={"size": 8}, priority=7)

        chosen = {
            selector: sorted(client.seen("orders", reactor.Selector(selector)))
            for selector in SELECTORS
        }

        assert chosen == SELECTORS


@pytest.mark.case(16)
def test_a_selector_is_echoed_and_a_bad_one_refused(here: Listening) -> None:
    with connected(here) as client:
        receiver = client.receiver("orders", reactor.Selector("color = 'red'"))
        granted = receiver.link.remote_source.filter
        granted.rewind()
        assert granted.next()
        assert set(granted.get_dict()) == {"selector"}

        bad = client.refused(client.receiver, "orders", reactor.Selector("color ="))

        assert bad == "amqp:invalid-field"
        client.put("still here")


@pytest.mark.case(17)
def test_no_more_comes_than_there_is_credit_for(here: Listening) -> None:
    with connected(here) as client:
        client.put(*range(10))
        receiver = client.receiver(credit=4)
        for number in range(4):
            assert client.get(receiver).message.body == number
        other = client.receiver()

        rest = client.drain(other)

        assert [one.message.body for one in rest] == list(range(4, 10))
        assert not receiver.fetcher.has_message


@pytest.mark.case(17)
def test_draining_ends_at_once_on_an_empty_queue(here: Listening) -> None:
    with connected(here) as client:
        receiver = client.receiver()

        assert client.drain(receiver) == []
        client.put("later")
        receiver.flow(1)
        assert client.get(receiver).message.body == "later"


@pytest.mark.case(17)
def test_waiting_with_a_timeout(here: Listening) -> None:
    with connected(here) as client:
        receiver = client.blocking.create_receiver("orders", credit=1)

        with pytest.raises(proton.Timeout):
            receiver.receive(timeout=0.1)
        client.put("later")

        assert receiver.receive(timeout=WITHIN_S).body == "later"


@pytest.mark.case(19)
def test_request_and_reply_by_a_dynamic_source(here: Listening) -> None:
    with connected(here) as asks, connected(here) as answers:
        replies = asks.receiver(None, dynamic=True, credit=1)
        name = replies.link.remote_source.address
        asks.put("question", reply_to=name, correlation_id=7)
        request = answers.get(answers.receiver(credit=1))
        request.accept()

        reply = proton.Message(
            body="answer", correlation_id=request.message.correlation_id
        )
        answers.sender(request.message.reply_to).send(reply)

        got = asks.get(replies).message
        assert (got.body, got.correlation_id) == ("answer", 7)
        assert answers.refused(answers.receiver, name) == "amqp:not-allowed"


@pytest.mark.case(21)
def test_each_subscriber_has_a_copy(here: Listening) -> None:
    with connected(here) as client:
        both = [client.receiver("news", Capability("topic"), credit=1) for _ in "ab"]

        client.put("hello", address="news")

        assert [client.get(one).message.body for one in both] == ["hello", "hello"]


def durable(client: Proton, *capabilities: str, name: str = "sub", **more: Any) -> Any:
    wanted = [reactor.DurableSubscription(), Capability("topic", *capabilities)]
    return client.receiver("news", *wanted, name=name, **more)


@pytest.mark.case(21)
def test_a_durable_subscription_is_kept_until_it_is_closed(here: Listening) -> None:
    with connected(here, container_id="me") as client:
        durable(client).detach()
    with connected(here) as other:
        other.put("while away", address="news")
    with connected(here, container_id="me") as client:
        receiver = durable(client, credit=1)
        got = client.get(receiver)
        assert got.message.body == "while away"
        got.accept()
        receiver.close()
    until(lambda: not Subscription.objects.exists())


@pytest.mark.case(21)
def test_a_shared_durable_subscription_shares(here: Listening) -> None:
    with connected(here, container_id="me") as client:
        first = durable(client, "shared", name="sub|1", credit=5)
        second = durable(client, "shared", name="sub|2", credit=5)

        client.put(*range(10), address="news")

        client.until(
            lambda: first.fetcher.has_message + second.fetcher.has_message == 10
        )
        assert first.fetcher.has_message == second.fetcher.has_message == 5
