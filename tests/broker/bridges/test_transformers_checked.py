"""Whether what a transformer returned can be sent, and what of it is sent."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from broker.bridges.messages import changed
from broker.bridges.providers.interface import Destination
from broker.bridges.transformers.checking import checked
from broker.bridges.transformers.registry import BranchTo
from broker.errors.bridges import TransformerFailed
from broker.models import Message
from broker.queueing.put import put
from broker.queueing.store import REPAIRED, NewMessage
from tests.amqp.written import application, came, data, properties, sent
from tests.broker.bridges import transformers  # noqa: F401  # they are registered
from tests.broker.bridges.transforming import here, make_message
from tests.make import make_queue


def failure_of(value: Any, original: NewMessage | None = None) -> str:
    with pytest.raises(TransformerFailed) as failed:
        checked("test", value, original or make_message())
    return failed.value.why


NAIVE = datetime(2026, 3, 14)  # noqa: DTZ001 -- that is the point
LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"body": "text"}, "Its body is of the type str, and not bytes."),
        ({"body": None}, "Its body is None, and not bytes."),
        ({"content_type": None}, "Its content_type is None, and not str."),
        ({"content_type": "a\0b"}, "Its content_type has a NUL character."),
        ({"subject": b"x"}, "Its subject is of the type bytes, and not str or None."),
        ({"subject": "\ud800"}, "Its subject has a lone surrogate."),
        ({"priority": 10}, "Its priority is 10, and not from 0 to 9."),
        ({"priority": -1}, "Its priority is -1, and not from 0 to 9."),
        ({"priority": True}, "Its priority is of the type bool, and not int."),
        ({"durable": 1}, "Its durable is of the type int, and not bool."),
        (
            {"expires_at": NAIVE},
            "Its expires_at has no time zone.",
        ),
        (
            {"deliver_at": "now"},
            "Its deliver_at is of the type str, and not datetime or None.",
        ),
        ({"routing_type": 9}, "Its routing_type is 9, which does not exist."),
        ({"properties": None}, "Its properties is None, and not dict."),
        (
            {"properties": {1: "x"}},
            "Its properties has a name that is of the type int, and no text.",
        ),
        (
            {"properties": {"a": float("nan")}},
            "Its property 'a' has nan, which JSON cannot represent.",
        ),
        (
            {"properties": {"a": [{"b": b"x"}]}},
            "Its property 'a' has a value of the type bytes, which is not JSON.",
        ),
        (
            {"properties": {"a": 10**5000}},
            "Its property 'a' has a number that is too large.",
        ),
        (
            {"properties": {"a": "\0"}},
            "Its property 'a' has a NUL character.",
        ),
        ({"properties": {"a": LOOP}}, "Its property 'a' is nested more than 200 deep."),
        (
            {"descriptor": {"report": 1 << 28}},
            "Report options 0x10000000 are not a valid combination. Combine"
            " the values of broker.errors.mq_codes.Report that you want.",
        ),
        ({"envelope": b"mine"}, "Its envelope is neither what it was nor None."),
        (
            {"address": "elsewhere"},
            "It changed the address. To send elsewhere, return a BranchTo.",
        ),
    ],
)
def test_what_cannot_be_sent_is_a_failure(fields: dict[str, Any], why: str) -> None:
    message = make_message()

    assert failure_of(replace(message, **fields)) == why
    assert failure_of(BranchTo(Destination("x"), replace(message, **fields))) == why


def test_what_is_too_large_is_a_failure(settings: Settings) -> None:
    settings.BROKER_MAX_MESSAGE_BYTES = 1000

    assert (
        failure_of(make_message(bytes(1001)))
        == "It has 1,001 bytes; 1,000 are allowed."
    )


UNCHECKED: Any = Destination


@pytest.mark.parametrize(
    ("destination", "why"),
    [
        ("queue:x", "The destination of its BranchTo is of the type str, and not"),
        (Destination(" "), "Its destination has no name."),
        (UNCHECKED(7), "The name of its destination is of the type int"),
        (UNCHECKED("x", 1), "Is_topic of its destination is of the type int"),
    ],
)
def test_a_branch_needs_a_destination(destination: Any, why: str) -> None:
    assert failure_of(BranchTo(destination, make_message())).startswith(why)


def test_a_branch_needs_a_message() -> None:
    why = "The message of its BranchTo is None, and not NewMessage."
    assert failure_of(BranchTo(Destination("x"), None)) == why  # type: ignore[arg-type]


TEXTS = st.none() | st.text() | st.text(st.characters(categories=["Cs", "Cc"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=5,
)


@pytest.fixture
def _orders(db: None) -> None:
    make_queue()


@pytest.mark.usefixtures("_orders")
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(
    fields=st.fixed_dictionaries(
        {"priority": st.integers(-1, 11)},
        optional={
            **dict.fromkeys(("subject", "content_type", "message_id"), TEXTS),
            "properties": st.dictionaries(st.text(max_size=9), JSON, max_size=4),
            "expires_at": st.none() | st.datetimes(timezones=st.timezones()),
        },
    )
)
def test_what_is_found_to_be_right_can_be_stored(fields: dict[str, Any]) -> None:
    message = make_message(**fields)
    try:
        sound = checked("test", message, make_message())
    except TransformerFailed:
        return

    assert isinstance(sound, NewMessage)
    found = Message.objects.get(pk=put("orders", sound.body, **said(sound)).message_id)

    assert read_back(found.properties) == read_back(sound.properties)
    assert found.subject == sound.subject


def read_back(properties: Any) -> Any:
    """Numbers as PostgreSQL keeps them: a large one is whole, by its digits."""
    return json.loads(json.dumps(properties), parse_int=float)


def said(message: NewMessage) -> dict[str, Any]:
    names = ("content_type", "properties", "priority", "subject", "message_id")
    return {name: getattr(message, name) for name in names}


# What AMQP and IBM MQ sent around the body


def amqp_message() -> NewMessage:
    return came(
        properties(subject="old", message_id="id")
        + application({"region": "north", "flag": True})
        + data(b"body")
    )


def test_of_a_changed_message_the_columns_win_over_what_amqp_sent() -> None:
    message = amqp_message()
    envelope = message.envelope

    after = here("test-shout", message)

    assert isinstance(after, NewMessage)
    again = came(sent(after))
    assert again.body == b"BODY"
    assert again.properties["for"] == "harbour/north"
    assert (again.properties["region"], again.properties["flag"]) == ("north", True)
    assert again.subject == "old"
    assert message.envelope == envelope


def test_of_a_message_that_was_not_changed_nothing_else_is_sent() -> None:
    message = amqp_message()

    after = here("test-echo", message)

    assert isinstance(after, NewMessage)
    assert sent(after) == sent(message)


def test_it_may_drop_what_amqp_sent() -> None:
    message = amqp_message()

    after = checked("test", replace(message, envelope=None, subject="new"), message)

    assert isinstance(after, NewMessage)
    assert came(sent(after)).subject == "new"


@pytest.mark.parametrize("flags", [0, 1, REPAIRED])
def test_a_copy_with_other_fields_says_so_in_its_envelope(flags: int) -> None:
    message = make_message(envelope=bytes((flags,)) + b"rest")

    copy = changed(message, body=b"other")

    assert copy.body == b"other"
    assert copy.envelope == bytes((flags | REPAIRED,)) + b"rest"
    assert message.envelope == bytes((flags,)) + b"rest"
    assert changed(make_message(), body=b"other").envelope is None


def test_ibms_descriptor_does_not_go_on_saying_what_a_column_said() -> None:
    said = {"correl_id": "00" * 24, "format": "MQSTR", "put_appl_name": "till"}
    message = make_message(correlation_id="old", descriptor=said)

    after = checked("test", replace(message, correlation_id="new"), message)

    assert isinstance(after, NewMessage)
    assert after.descriptor == {"format": "MQSTR", "put_appl_name": "till"}
