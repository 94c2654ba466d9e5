"""Each wrong configuration has its sentence: what is wrong, and what to do."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from broker.bridges.config import validation
from broker.bridges.config.faults import Part
from broker.bridges.config.validation import faults_of, problems_among, problems_of
from broker.bridges.providers.interface import Capability
from broker.bridges.providers.registry import PROVIDERS
from broker.models import Bridge, Link
from broker.models.bridge_names import RESERVED
from tests.broker.bridges.making import dead_queue, destination, factory, link

BRIDGE, OTHER = Bridge(name="bridge"), Bridge(name="another")
PLAIN = {"transacted": False}

WRONG_LINKS: dict[str, tuple[dict[str, Any], str]] = {
    "foreign to foreign": (
        {"source": "amqp", "target": "stomp"},
        "neither is this broker. Create two links",
    ),
    "mixed, at the target": (
        {"target": "rabbitmq"},
        "has no transactions. Choose a provider that has them",
    ),
    "mixed, at the source": (
        {"source": "kombu", "target": "this-broker"},
        "has no transactions. Choose a provider that has them",
    ),
    "a factory of another bridge": (
        {"source_factory": factory(OTHER)},
        "'another: here' belongs to another bridge. Choose one that belongs to this"
        " bridge.",
    ),
    "a destination of another bridge": (
        {"target_destination": destination(OTHER, "bills")},
        "belongs to another bridge. Choose one that belongs to this bridge.",
    ),
    "an unknown provider": (
        {"target": "jms"},
        "There is no provider 'jms'. These exist: this-broker, backout, amqp",
    ),
    "no provider yet": (
        {"target_factory": factory(BRIDGE, "to", "")},
        "Choose its provider.",
    ),
    "a bad URL": (
        {"target_factory": factory(BRIDGE, "to", "stomp", url="mq.test")},
        "'mq.test' is not a URL for STOMP (ActiveMQ, Artemis, RabbitMQ). Write it like"
        " this: stomp://host:61613",
    ),
    "a URL of this broker": (
        {"source_factory": factory(BRIDGE, url="amqp://localhost")},
        "This broker needs no URL. Leave it empty.",
    ),
    "a password in a URL": (
        {"target_factory": factory(BRIDGE, "to", "amqp", url="amqp://a:b@mq.test")},
        "A URL is not secret. Remove the name and the password from it",
    ),
    "a password among properties": (
        {"target_factory": factory(BRIDGE, properties={"ssl.keyPassword": "x"})},
        "'ssl.keyPassword' would not be secret: properties are not encrypted.",
    ),
    "a username alone": (
        {"target_factory": factory(BRIDGE, "to", "amqp", username="shop")},
        "It has a username but no password. Enter both, or neither.",
    ),
    "a selector with an error": (
        {"selector": "colour = "},
        "The selector is wrong at character",
    ),
    "a selector where there are none": (
        {"source": "rabbitmq", "target": "this-broker", "selector": "a = 1", **PLAIN},
        "RabbitMQ (AMQP 0-9-1) has no selectors. Leave it empty, or let a",
    ),
    "a topic as source where there are none": (
        {"source": "backout", "target": "this-broker", "source_kind": "topic"},
        "'orders' is a topic, but the provider another Backout supports queues only.",
    ),
    "a topic as target where there are none": (
        {"target": "backout", "target_kind": "topic"},
        "'bills' is a topic, but the provider another Backout supports queues only.",
    ),
    "the source's topic where there are none": (
        {"target": "backout", "source_kind": "topic", "target_destination": None},
        "'orders' is a topic, but the provider another Backout supports queues only.",
    ),
    "a durable subscription to a queue": (
        {"durable_name": "till", "source_client_id": "shop"},
        "Only a subscription to a topic can be durable, but the source is a queue.",
    ),
    "a durable subscription of nobody": (
        {"durable_name": "till", "source_kind": "topic"},
        "Set a client id for the source.",
    ),
    "duplicates under transactions": (
        {"source": "amqp", "target": "this-broker", "duplicate_detection": True},
        "A transacted link has no duplicates to detect. Choose one of the two",
    ),
    "duplicates out of this broker": (
        {"duplicate_detection": True, **PLAIN},
        "Duplicates can be detected only if the target is this broker.",
    ),
    "a loop onto itself": (
        {"target": "this-broker", "target_destination": destination(BRIDGE, "orders")},
        "each message would loop for ever. Choose another target.",
    ),
    "a loop onto itself, as source": (
        {"target": "this-broker", "target_destination": None},
        "each message would loop for ever. Choose another target.",
    ),
    "no batch": ({"batch": 0}, "Give a number from 1."),
    "a batch beyond all": ({"batch": 1001}, "less than or equal to 1000"),
    "a batch beyond a unit of work": (
        {"batch": 600},
        "A unit of work can have at most 500 messages (BROKER_MAX_UNCOMMITTED_MESSAGES",
    ),
    "a name of somebody's list": (
        {"properties": {"a": 1}},
        "Properties must map names to texts",
    ),
    "a property of ours": (
        {"properties": {"backout.batch": "1"}},
        "names that begin with 'backout.' are reserved. Use another name.",
    ),
    "no time": ({"transformer_time_limit_s": 0.0}, "Give a time above 0."),
    "a destination without a name": (
        {"source": "this-broker", "source_destination": destination(BRIDGE, "x")},
        "Enter its name at the provider.",
    ),
    "a text that no document holds": (
        {"selector": "a = '\x01'"},
        "It has a control character, which a document cannot contain. Remove it.",
    ),
}


def made(fields: dict[str, Any]) -> Link:
    fields = dict(fields)
    ends = {
        end: fields.pop(f"{end}_destination")
        for end in ("source", "target")
        if f"{end}_destination" in fields
    }
    one = link(bridge=BRIDGE, **fields)
    for end, destination_ in ends.items():
        setattr(one, end, destination_)
    return one


@pytest.mark.spec("BRIDGE-1", "BRIDGE-17")
@pytest.mark.parametrize(("fields", "sentence"), WRONG_LINKS.values(), ids=WRONG_LINKS)
def test_a_wrong_link_is_told_in_a_sentence(
    settings: Settings, fields: dict[str, Any], sentence: str
) -> None:
    settings.BROKER_MAX_UNCOMMITTED_MESSAGES = 500
    wrong = made(fields)
    if fields.get("source_destination"):
        wrong.source.name = ""

    found = problems_of(wrong)

    assert [one for one in found if sentence in one], found
    assert all(one.endswith((".", "61613")) or "like this:" in one for one in found)


def test_a_link_without_its_ends_says_what_to_choose() -> None:
    found = faults_of(Link(bridge=BRIDGE, name="out"))

    assert {one.field: one.sentence for one in found} == {
        "source_factory": "Choose a connection factory.",
        "source": "Choose a destination.",
        "target_factory": "Choose a connection factory.",
    }


@pytest.mark.spec("BRIDGE-1")
@pytest.mark.parametrize("end", ["source", "target"])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_link_between_this_broker_and_any_other_is_right(
    end: str, provider: str
) -> None:
    ends = {"source": "this-broker", "target": "this-broker", end: provider}
    has_them = Capability.TRANSACTIONS in PROVIDERS[provider].capabilities

    assert problems_of(link(**ends, transacted=False)) == []
    assert (problems_of(link(**ends, transacted=True)) == []) == has_them


@pytest.mark.spec("BRIDGE-14", "BRIDGE-17")
@pytest.mark.parametrize("name", [*RESERVED, "Built-In-DMQ", "as_source"])
def test_a_reserved_name_is_refused_for_everything(name: str) -> None:
    queue, one = dead_queue(), link()
    queue.name = one.name = name
    shared = factory(BRIDGE, name), destination(BRIDGE, name, "orders")
    parts: list[Part] = [Bridge(name=name), *shared, queue, one]

    for part in parts:
        assert [
            one.sentence
            for one in faults_of(part)
            if "is reserved for the bridge itself. Take another name." in one.sentence
        ], part


@pytest.mark.spec("BRIDGE-14")
def test_the_built_in_dead_message_queue_is_nobody_s_destination() -> None:
    (found,) = faults_of(destination(BRIDGE, "dead", "imq.bridge.jms.dmq"))

    assert found.field == "name"
    assert "is the built-in dead message queue of each bridge" in found.sentence


@pytest.mark.parametrize("name", ["a/b", " a", "a\u200b", ""])
def test_a_name_that_cannot_be_told_from_others_is_refused(name: str) -> None:
    one = link()
    one.name = name
    assert {fault.field for fault in faults_of(one)} == {"name"}


def test_dead_messages_do_not_go_into_the_link_that_they_come_from() -> None:
    one = link(bridge=BRIDGE)
    back = dead_queue(bridge=BRIDGE, destination=destination(BRIDGE, "d", "orders"))
    elsewhere = dead_queue(bridge=BRIDGE, destination=destination(BRIDGE, "d", "dead"))

    assert problems_among([one, elsewhere]) == []
    (said,) = problems_among([one, back])
    assert said.startswith("Dead message queue 'dmq': 'orders' is the source of the")


def test_a_dead_message_queue_fits_its_provider() -> None:
    away = factory(BRIDGE, "away", "backout")
    news = destination(BRIDGE, "news", kind="topic")

    found = faults_of(dead_queue(bridge=BRIDGE, factory=away, destination=news))

    assert [one.field for one in found] == ["destination"]
    assert faults_of(dead_queue(send_attempts=0))[0].sentence == "Give a number from 1."


def test_what_a_transformer_says_of_its_properties_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def problem(name: str, properties: Any) -> str:
        return f"There is no transformer {name!r}." if name != "strip" else ""

    monkeypatch.setattr(validation, "transformer_problem", problem)

    assert problems_of(link(transformer="strip")) == []
    assert problems_of(link(transformer="nobody")) == [
        "There is no transformer 'nobody'."
    ]
    assert faults_of(dead_queue(transformer="nobody"))[0].field == "transformer"
