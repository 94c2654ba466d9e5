"""A message that came by AMQP and was repaired: what its consumer gets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from broker.amqp.messages import bodies
from broker.amqp.protocol.sections import map_of, properties_of, split
from broker.amqp.protocol.types.types import Byte, Int, Symbol
from broker.queueing.store import REPAIRED, NewMessage
from tests.amqp.messages_drawn import BARE
from tests.amqp.written import (
    VALUE,
    annotated,
    application,
    came,
    data,
    properties,
    section,
    sent,
    without_header,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


def repaired(message: NewMessage) -> NewMessage:
    """As it is stored once anything of it was repaired."""
    envelope = bytearray(message.envelope or b"")
    envelope[0] |= REPAIRED
    return replace(message, envelope=bytes(envelope))


@given(BARE)
def test_what_was_not_changed_leaves_as_it_came(bare: bytes) -> None:
    assert without_header(sent(repaired(came(bare)))) == without_header(bare)


@given(BARE, st.binary(max_size=300))
def test_a_body_that_was_changed_is_sent_with_all_else_as_it_was(
    bare: bytes, body: bytes
) -> None:
    message = came(bare)
    assume(message.content_type != bodies.ENCODED)
    assume(is_text(body) or bodies.stored(split(bare).body, None)[1] == bodies.BYTES)

    out = split(sent(repaired(message), body=body))

    again = came(sent(repaired(message), body=body))
    assert again.body == body
    before = split(bare)
    assert out.annotations == before.annotations
    assert out.properties == before.properties
    assert out.application_properties == before.application_properties
    assert out.footer == before.footer


@given(BARE, TEXT, TEXT, TEXT, TEXT)
def test_headers_that_were_changed_are_sent_so(
    bare: bytes, subject: str, correlation_id: str, reply_to: str, group_id: str
) -> None:
    message = came(bare)
    wanted: dict[str, Any] = {
        "subject": subject,
        "correlation_id": came(bare_with(correlation_id)).correlation_id,
        "reply_to": came(bare_with(reply_to=reply_to)).reply_to,
        "group_id": group_id,
    }

    out = sent(repaired(message), **wanted)

    again = came(out)
    assert {name: getattr(again, name) for name in wanted} == wanted
    assert again.body == message.body
    assert again.message_id == message.message_id
    assert split(out).annotations == split(bare).annotations


def bare_with(correlation_id: str = "", reply_to: str | None = None) -> bytes:
    said = properties(reply_to=reply_to, correlation_id=correlation_id)
    return said + data(b"")


@given(BARE, st.dictionaries(TEXT, TEXT | st.integers(-9, 9) | st.booleans()))
def test_properties_that_were_changed_are_sent_so(
    bare: bytes, wanted: dict[str, Any]
) -> None:
    message = came(bare)

    again = came(sent(repaired(message), properties=wanted))

    assert again.properties == wanted
    assert again.body == message.body


def test_only_what_differs_is_written_anew() -> None:
    message = came(
        annotated(x_opt_mine=Byte(1))
        + properties(
            message_id="id",
            user_id=b"shop",
            subject="new",
            reply_to="answers",
            content_type=Symbol("application/json"),
        )
        + application({"small": Byte(1), "long": 7, "gone": True, "n": Int(3)})
        + data(b"{}")
    )
    changed: dict[str, Any] = {
        "subject": None,
        "content_type": "text/json",
        "properties": {"small": 1, "long": 8, "n": True, "added": 2**40},
    }

    out = split(sent(repaired(message), **changed))

    said = properties_of(out.properties)
    assert (said.subject, said.content_type) == (None, "text/json")
    assert (said.message_id, said.user_id, said.reply_to) == ("id", b"shop", "answers")
    found = map_of(out.application_properties)
    assert found == {"small": 1, "long": 8, "n": True, "added": 2**40}
    assert type(found["small"]) is Byte, "as it was sent"
    assert type(found["long"]) is int, "a long stays one"
    assert map_of(out.annotations) == {"x-opt-mine": 1}


@pytest.mark.parametrize("body", ["", "ü" * 200])
def test_a_text_stays_a_text(body: str) -> None:
    message = came(section(VALUE, "text"))

    again = came(sent(repaired(message), body=body.encode()))

    assert again.body == body.encode()
    assert again.content_type == bodies.TEXT


def test_a_dead_letter_that_was_repaired_still_says_why_it_was_one() -> None:
    message = came(data(b"{}"))
    died = {"_BRK_DEATH_REASON": "REJECTED", "_AMQ_ORIG_QUEUE": "orders", "mine": 1}

    out = split(sent(repaired(message), body=b"[]", properties=died))

    assert map_of(out.application_properties) == died
    assert map_of(out.annotations)["x-opt-death-reason"] == "REJECTED"


def is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
