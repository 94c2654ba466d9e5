"""A message that a link changes: what is sent of it then."""

from __future__ import annotations

from typing import Any

import pytest

from broker.amqp.messages import bodies
from broker.amqp.protocol.sections import map_of, properties_of, split
from broker.amqp.protocol.types.types import Byte, Symbol
from broker.bridges.messages import changed
from broker.queueing.store import NewMessage
from tests.amqp.written import (
    DATA,
    VALUE,
    annotated,
    application,
    came,
    data,
    header_of,
    properties,
    section,
    sent,
    without_header,
)
from tests.make import NOON, minutes

BARE = b"".join(
    (
        annotated(x_opt_jms_msg_type=Byte(5), x_opt_mine="kept"),
        properties(message_id="ID:1", reply_to="back", correlation_id="c"),
        application({"colour": "red"}),
        section(VALUE, "hello"),
    )
)


def again(message: NewMessage) -> Any:
    return split(sent(message))


def test_the_message_that_was_there_before_stays_as_it_is() -> None:
    message = came(BARE)

    copy = changed(message, reply_to=None)

    assert (message.reply_to, copy.reply_to) == ("back", None)
    assert without_header(sent(message)) == BARE


def test_a_copy_without_a_change_is_sent_as_it_came() -> None:
    assert without_header(sent(changed(came(BARE)))) == BARE


@pytest.mark.spec("BRIDGE-4")
def test_a_reply_address_that_was_taken_away_is_not_sent() -> None:
    out = again(changed(came(BARE), reply_to=None))

    said = properties_of(out.properties)
    assert (said.reply_to, said.correlation_id, said.message_id) == (None, "c", "ID:1")
    assert out.body == section(VALUE, "hello")


@pytest.mark.spec("BRIDGE-7")
def test_a_property_that_was_added_is_sent_beside_the_others() -> None:
    message = came(BARE)
    more = {**message.properties, "JMS_SUN_JMSBRIDGE_NAME": "north"}

    out = again(changed(message, properties=more))

    found = map_of(out.application_properties)
    assert found == {"colour": "red", "JMS_SUN_JMSBRIDGE_NAME": "north"}


def test_another_expiry_is_sent_as_the_rest_of_the_time_to_live() -> None:
    message = came(properties(absolute_expiry_time=None) + data())

    copy = changed(message, expires_at=NOON + minutes(1))

    assert header_of(sent(copy)).ttl == 60_000


def test_a_message_that_is_to_have_no_id_gets_one_of_this_broker() -> None:
    out = again(changed(came(BARE), message_id=None))

    said = properties_of(out.properties).message_id
    assert isinstance(said, str)
    assert said.startswith("ID:")
    assert said != "ID:1"


def test_another_id_is_sent_instead_of_the_first() -> None:
    out = again(changed(came(BARE), message_id="ID:2"))
    assert properties_of(out.properties).message_id == "ID:2"


def test_a_map_that_became_a_text_is_sent_as_its_bytes() -> None:
    message = came(annotated(x_opt_jms_msg_type=Byte(2)) + section(VALUE, {"a": 1}))
    assert message.content_type == bodies.ENCODED

    copy = changed(message, body=b'{"a": 2}', content_type="application/json")

    out = again(copy)
    assert out.body == section(DATA, b'{"a": 2}')
    assert properties_of(out.properties).content_type == "application/json"
    assert Symbol("x-opt-jms-msg-type") not in map_of(out.annotations)


def test_a_message_that_did_not_come_by_amqp_is_changed_alike() -> None:
    copy = changed(NewMessage("orders", b"hello", subject="a"), subject="b")
    assert (copy.body, copy.subject, copy.envelope) == (b"hello", "b", None)
