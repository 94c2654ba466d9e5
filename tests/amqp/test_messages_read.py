"""The quick way of reading a message finds what the thorough one does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from broker.amqp.messages.documents import document
from broker.amqp.messages.fast_decode import ALL, cut, document_of, fields_of
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.sections import map_of, properties_of, split
from tests.amqp.messages_drawn import BARE, BEFORE
from tests.amqp.written import application, data, properties


def outcome(read: Callable[[bytes], Any], written: bytes) -> Any:
    """What a function gives, or that it refuses."""
    try:
        return repr(read(written))
    except AmqpError as error:
        return error.condition


def same(written: bytes) -> None:
    assert outcome(cut, written) == outcome(split, written)
    try:
        sections = split(written)
    except AmqpError:
        return
    assert outcome(fields_of, sections.properties) == outcome(
        lambda section: ALL(properties_of(section)), sections.properties
    )
    assert outcome(document_of, sections.application_properties) == outcome(
        lambda section: document(map_of(section)), sections.application_properties
    )


@given(before=BEFORE, bare=BARE)
@example(b"", properties(message_id="m", subject="s") + data())
@example(b"", application({"a": "x", "b": 3, "c": -3, "d": 0.5, "e": None}) + data())
def test_of_any_message(before: bytes, bare: bytes) -> None:
    same(before + bare)


@given(BARE, st.data())
def test_of_one_with_a_wrong_byte(bare: bytes, drawing: st.DataObject) -> None:
    place = drawing.draw(st.integers(0, len(bare) - 1))
    byte = drawing.draw(st.integers(0, 255))

    same(bare[:place] + bytes((byte,)) + bare[place + 1 :])


@given(BARE, st.data())
def test_of_one_that_is_cut_short(bare: bytes, drawing: st.DataObject) -> None:
    same(bare[: drawing.draw(st.integers(0, len(bare)))])
