"""Documents of Open MQ's bridges are understood and written again, or refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.db.models import Model

from broker.bridges import secrets
from broker.bridges.config.documents import (
    DESCRIPTIONS,
    NOT_OF_DOCUMENTS,
    Document,
    values_of,
)
from broker.bridges.config.jmsbridge_table import (
    ATTRIBUTES,
    CHILDREN,
    MODELS,
    PROPERTIES,
)
from broker.bridges.config.jmsbridge_writing import write
from broker.bridges.config.jmsbridge_xml import read
from broker.models import Bridge, ConnectionFactory
from tests.broker.bridges.config.jmsbridge_documents import DOCUMENT, LEAST, said


@pytest.mark.spec("BRIDGE-17")
def test_a_whole_document_is_read() -> None:
    found = read(DOCUMENT)

    parts = said(found)
    assert parts["Bridge", "shops"] == {
        "name": "shops",
        "description": "Orders of <all> shops?>",
        "tag_messages": True,
        "log_transfers": False,
    }
    assert parts["Link", "orders-in"] == {
        "name": "orders-in",
        "description": "From the shops, <all> of them.",
        "enabled": True,
        "transacted": True,
        "source_factory": "shop",
        "source": "orders",
        "source_description": "where tills send",
        "selector": "colour = 'blue' AND weight > 2",
        "durable_name": "till",
        "source_client_id": "backout",
        "target_factory": "here",
        "target": "inbox",
        "target_description": "where we book",
        "stay_connected": False,
        "target_client_id": "in",
        "retain_reply_to": True,
        "transformer": "headers",
        "properties": {"set.tenant": "t7"},
        "transformer_time_limit_s": 1.5,
        "transform_failure": "4.4",
        "consume_on_transform_error": True,
        "on_send_failure": "dmq-and-retry",
        "duplicate_detection": False,
        "loop_guard": False,
        "batch": 10,
    }
    assert parts["Link", "bills-out"]["target"] is None
    assert parts["ConnectionFactory", "shop"] == {
        "name": "shop",
        "description": "",
        "provider": "amqp",
        "url": "amqps://shop.test:5671",
        "username": "till",
        "properties": {"heartbeat": "10"},
        "lookup_name": "",
        "connect_attempts": 3,
        "connect_interval_s": 1,
        "idle_timeout_s": 0,
        "multi_rm": True,
    }
    assert parts["BridgeDestination", "orders"]["kind"] == "topic"
    assert parts["DeadMessageQueue", "first-dead"]["time_to_live_ms"] == 60_000


@pytest.mark.spec("BRIDGE-14")
def test_dead_message_queues_keep_the_order_of_the_file() -> None:
    found = read(DOCUMENT).dead_queues

    assert [(one.position, one.name) for one in found] == [
        (0, "second-dead"),
        (1, "first-dead"),
    ]


@pytest.mark.spec("BRIDGE-17")
@pytest.mark.parametrize("text", [DOCUMENT, LEAST])
def test_what_is_written_reads_back_equal(text: str) -> None:
    first = read(text)

    second = read(write(first))
    third = read(write(first, sealed=True))

    assert said(first) == said(second) == said(third)
    order = [one.name for one in first.dead_queues]
    assert [one.name for one in second.dead_queues] == order
    assert write(first) == write(third)


@pytest.mark.spec("BRIDGE-15", "BRIDGE-17")
def test_what_a_document_does_not_say_is_as_open_mq_has_it() -> None:
    parts = said(read(LEAST))

    defaults: dict[tuple[str, str], dict[str, Any]] = {
        ("Bridge", "b"): {"tag_messages": False, "log_transfers": True},
        ("Link", "l"): {
            "enabled": True,
            "transacted": True,
            "stay_connected": True,
            "retain_reply_to": False,
            "consume_on_transform_error": False,
            "selector": "",
            "durable_name": "",
            "transformer": "",
            "transform_failure": "4.4u1",
            "on_send_failure": "dmq-and-ack",
        },
        ("ConnectionFactory", "here"): {
            "provider": "this-broker",
            "connect_attempts": -1,
            "connect_interval_s": 5,
            "idle_timeout_s": 1800,
            "multi_rm": False,
        },
        ("DeadMessageQueue", "d"): {
            "enabled": True,
            "stay_connected": True,
            "time_to_live_ms": 0,
            "send_attempts": 3,
            "send_interval_s": 5,
        },
        ("BridgeDestination", "q"): {"kind": "queue"},
    }
    for key, expected in defaults.items():
        found = {name: parts[key][name] for name in expected}
        assert (key, found) == (key, expected)


def test_what_is_as_usual_is_not_written() -> None:
    text = write(read(LEAST))

    assert '<connection-factory ref-name="here" />' in text
    assert '<link name="l">' in text
    assert 'ref-name="q" name="q" type="queue"' in text  # Open MQ has no default
    assert "backout" not in text


def test_what_is_written_keeps_to_the_document_type() -> None:
    """Each element in its order, and no attribute that Open MQ does not know."""
    text = write(read(DOCUMENT)).replace("secret", "")
    order = [text.index(f"<{one} ") for one in CHILDREN["jmsbridge"]]

    assert text.startswith(
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE jmsbridge'
    )
    assert order == sorted(order)
    assert "password=" not in text
    assert text.count("<property") == text.count("<property name=")
    for names in PROPERTIES.values():
        assert not set(names) & {name for one in ATTRIBUTES.values() for name in one}


def test_passwords_are_read_and_never_written() -> None:
    found = read(DOCUMENT)
    shop = {one.name: one for one in found.factories}["shop"]

    assert secrets.decrypt(shop.secret, factory="shop") == "s3same"
    plain, sealed = write(found), write(found, sealed=True)
    assert "s3same" not in plain + sealed + repr(found)
    assert shop.secret not in plain
    assert "Its password is not written out." in plain
    again = {one.name: one for one in read(sealed).factories}["shop"]
    assert again.secret == shop.secret


def test_what_only_java_can_find_is_left_open_and_its_links_are_disabled() -> None:
    text = DOCUMENT.replace('enabled="false" transacted="false"', "")
    found = read(text)

    mq = {one.name: one for one in found.factories}["mq"]
    assert (mq.provider, mq.lookup_name) == ("", "cn=CF7677")
    assert {one.name: one.enabled for one in found.links} == {
        "orders-in": True,
        "bills-out": False,
    }
    (one,) = found.left_open
    assert "Choose the provider of 'mq', and enter its URL." in one.what
    assert one.where.startswith("line ")


@pytest.mark.parametrize(
    ("inside", "sentence"),
    [
        (
            '<property name="imqAddressList" value="mq://other:7676/jms"/>',
            "Choose the provider of 'f', and enter its URL.",
        ),
        (
            '<property name="java.naming.security.credentials" value="pw"/>',
            "The property 'java.naming.security.credentials' is removed",
        ),
        (
            '<property name="imqDefaultUsername" value="till"/>',
            "Enter the password of 'f', unless it is stored already.",
        ),
    ],
)
def test_what_is_left_open_is_said(inside: str, sentence: str) -> None:
    text = f'<connection-factory ref-name="f">{inside}</connection-factory>'
    found = read(f'<jmsbridge name="b">{text}</jmsbridge>')

    assert [one.what for one in found.left_open if sentence in one.what]
    assert "pw" not in str(found.factories[0].properties)


def test_the_login_of_open_mq_s_factories_is_taken_over() -> None:
    inside = (
        '<property name="imqDefaultUsername" value="till"/>'
        '<property name="imqDefaultPassword" value="s3same"/>'
    )
    text = f'<connection-factory ref-name="f">{inside}</connection-factory>'
    (one,) = read(f'<jmsbridge name="b">{text}</jmsbridge>').factories

    assert (one.username, one.properties) == ("till", {})
    assert secrets.decrypt(one.secret, factory="f") == "s3same"


def test_a_destination_by_its_name_in_jndi_is_left_open() -> None:
    text = LEAST.replace('ref-name="q" name="q"', 'ref-name="q" lookup-name="cn=q"')
    found = read(text)

    assert "Enter the name of 'q' at its provider" in found.left_open[0].what
    assert [one.enabled for one in found.links] == [False]
    assert said(read(write(found))) == said(found)


def test_a_durable_subscription_to_a_queue_means_nothing_as_in_open_mq() -> None:
    text = LEAST.replace('destination-ref="q"', 'destination-ref="q" durable-sub="t"')
    found = read(text)

    assert found.links[0].durable_name == ""
    assert "durable-sub has no effect and is removed" in found.left_open[0].what


def test_texts_of_any_kind_come_back() -> None:
    hostile = "a\tb\"'<&>]]>?>-->\u202e\U0001f600é"
    of = Bridge(name="b", description=f"{hostile}\r\n{hostile}")
    one = ConnectionFactory(
        bridge=of,
        name="f",
        provider="this-broker",
        description=hostile,
        properties={hostile: f"{hostile}\n{hostile}\r"},
    )
    document = Document(of, [one])

    again = read(write(document))

    assert values_of(again.factories[0]) == values_of(one)
    assert again.bridge.description == f"{hostile}\n{hostile}"


@pytest.mark.spec("BRIDGE-17")
def test_each_attribute_stands_in_the_documents() -> None:
    text = (settings.BASE_DIR / "docs" / "bridges.md").read_text()
    known = [*ATTRIBUTES.values(), *PROPERTIES.values()]

    missing = {name for one in known for name in one if f"`{name}`" not in text}

    assert missing == set()


@pytest.mark.spec("BRIDGE-17")
@pytest.mark.parametrize("model", list(dict.fromkeys(MODELS.values())))
def test_each_field_is_in_the_document(model: type[Model]) -> None:
    """A field that is added later is not lost on the way through a file."""
    tables = (*ATTRIBUTES.items(), *PROPERTIES.items())
    known = {
        field
        for element, fields in tables
        if MODELS[element] is model
        for field in fields.values()
    }
    fields = {one.name for one in model._meta.fields} - NOT_OF_DOCUMENTS

    assert fields - known <= {*DESCRIPTIONS, "properties"}
