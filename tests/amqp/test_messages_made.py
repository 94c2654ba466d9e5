"""Messages that were put without AMQP, and copies, as AMQP clients get them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from broker.amqp.messages.bodies import DATA, VALUE
from broker.amqp.messages.compose import LAST_MS
from broker.amqp.messages.convert import to_send
from broker.amqp.protocol.sections import (
    Header,
    body_of,
    map_of,
    properties_of,
    split,
)
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import Byte, Int, Timestamp, ULong
from broker.formats.mq.descriptor import own_id
from broker.queueing.store import NewMessage
from tests.amqp.messages_drawn import BARE
from tests.amqp.written import (
    NOON_MS,
    annotated,
    application,
    came,
    data,
    kept,
    properties,
    sent,
    without_header,
)
from tests.make import NOON, minutes

COPY = {
    "_AMQ_ORIG_ADDRESS": "orders",
    "_AMQ_ORIG_QUEUE": "orders",
    "_AMQ_ORIG_MESSAGE_ID": "76",
    "_AMQ_ORIG_ROUTING_TYPE": 1,
}
DEATH = COPY | {
    "_BRK_DEATH_REASON": "REJECTED",
    "_BRK_DEATH_COUNT": 3,
    "_BRK_DEATH_ERROR": "no such customer",
    "_BRK_DEATH_TIME": NOON_MS,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("body", "is_map"),
    [
        (VALUE + encode({"a": 1}), True),
        (VALUE + encode("a"), False),
        (VALUE + encode({"a": 1}) + b"\x40", False),
        (b"no AMQP", False),
    ],
)
def test_a_map_that_a_bridge_brought_is_a_map(body: bytes, *, is_map: bool) -> None:
    kind = "application/vnd.oasis.amqp"

    out = split(sent(NewMessage("orders", body, kind)))

    assert map_of(out.annotations)["x-opt-jms-msg-type"] == (2 if is_map else 3)
    assert out.body == (body if is_map else DATA + encode(body))
    assert properties_of(out.properties).content_type == (None if is_map else kind)


def test_a_message_of_this_process_has_all_sections() -> None:
    message = NewMessage(
        "orders",
        b"\x00\xff",
        properties={"tenant": "t7", "n": 3, "large": 2**40, "share": 0.5, "x": None},
        priority=7,
        expires_at=NOON + minutes(1),
        message_id="ID:1",
        correlation_id="c",
        reply_to="answers",
        subject="new",
        group_id="g",
        descriptor={"msg_seq_number": 2},
    )

    out = split(sent(message))
    said = properties_of(out.properties)
    found = map_of(out.application_properties)

    assert out.header == Header(durable=True, priority=7, ttl=60_000)
    assert (said.message_id, said.correlation_id) == ("ID:1", "c")
    assert (said.to, said.reply_to, said.subject) == ("orders", "answers", "new")
    assert (said.group_id, said.group_sequence) == ("g", 2)
    assert said.content_type == "application/octet-stream"
    assert said.absolute_expiry_time == NOON_MS + 60_000
    assert said.creation_time == NOON_MS
    assert found == dict(message.properties)
    assert (type(found["n"]), type(found["large"])) == (Int, int)
    assert body_of(out.body).data == b"\x00\xff"


def test_without_an_id_it_has_one_of_the_broker_s_number() -> None:
    said = properties_of(split(sent(NewMessage("orders"))).properties)

    assert said.message_id == f"ID:{(b'AMQ BACKOUT     ' + bytes(7) + b'M').hex()}"


@pytest.mark.parametrize(
    ("text", "identifier"),
    [
        ("ID:AMQP_ULONG:7", ULong(7)),
        ("ID:AMQP_UUID:00000000-0000-0000-0000-000000000007", UUID(int=7)),
        ("ID:AMQP_BINARY:0AFF", b"\x0a\xff"),
        ("ID:414d51", "ID:414d51"),
    ],
)
def test_an_answer_has_the_id_of_the_question_in_its_type(
    text: str, identifier: Any
) -> None:
    answer = NewMessage("answers", correlation_id=text)

    said = properties_of(split(sent(answer)).properties)

    assert said.correlation_id == identifier


@pytest.mark.parametrize(
    ("content_type", "body", "jms_type", "kind"),
    [
        ("text/plain; charset=utf-8", "grüße".encode(), 5, "value"),
        ("text/plain", b"\xff\xfe", 3, "data"),
        ("application/json", b"{}", 5, "data"),
        ("application/octet-stream", b"x", 3, "data"),
        ("application/vnd.oasis.amqp", b"\x00Sw@", 3, "data"),
    ],
)
def test_jms_clients_are_told_what_kind_of_message_it_is(
    content_type: str, body: bytes, jms_type: int, kind: str
) -> None:
    message = NewMessage("orders", body, content_type=content_type)

    out = split(sent(message))
    found = body_of(out.body)

    assert map_of(out.annotations) == {
        "x-opt-jms-msg-type": Byte(jms_type),
        "x-opt-jms-dest": Byte(0),
    }
    assert found.kind == kind
    assert (found.value.encode() if kind == "value" else found.data) == body
    stated = properties_of(out.properties).content_type
    assert stated == (None if kind == "value" else content_type)


def test_a_subscription_s_messages_are_of_a_topic() -> None:
    delivery = kept(NewMessage("news", reply_to="answers"))

    found = map_of(split(to_send(delivery, now=NOON, from_topic=True)).annotations)

    assert found["x-opt-jms-dest"] == 1
    assert found["x-opt-jms-reply-to"] == 0


@given(st.dictionaries(st.text(), JSON), st.text(), st.binary())
def test_whatever_is_json_is_sent(
    found: dict[str, Any], content_type: str, body: bytes
) -> None:
    message = NewMessage("orders", body, content_type=content_type, properties=found)

    out = split(to_send(kept(message, properties=found), now=NOON))

    assert set(map_of(out.application_properties)) == set(found)


def test_a_dead_letter_says_why_and_whence() -> None:
    letter = came(annotated(x_opt_mine="m") + application({"tenant": "t7"}) + data())

    out = split(sent(letter, properties={"tenant": "t7"} | DEATH))

    assert map_of(out.application_properties) == {"tenant": "t7"} | DEATH
    assert map_of(out.annotations) == {
        "x-opt-mine": "m",
        "x-opt-death-reason": "REJECTED",
        "x-opt-death-queue": "orders",
        "x-opt-death-count": 3,
        "x-opt-death-info": "no such customer",
    }
    assert out.body == data()


def test_one_that_was_put_without_amqp_says_it_too() -> None:
    letter = NewMessage("orders", properties=DEATH)

    out = split(sent(letter))

    assert map_of(out.annotations)["x-opt-death-reason"] == "REJECTED"
    assert map_of(out.application_properties) == DEATH


def test_a_dead_letter_of_an_expired_message_does_not_expire_in_its_reader() -> None:
    expires = Timestamp(NOON_MS + 5000)
    letter = came(properties(message_id="m", absolute_expiry_time=expires) + data())
    told = DEATH | {"_BRK_DEATH_REASON": "EXPIRED", "_AMQ_ACTUAL_EXPIRY": NOON_MS}

    out = split(sent(letter, properties=told, expires_at=None))

    assert out.header == Header()
    assert properties_of(out.properties).absolute_expiry_time is None
    assert properties_of(out.properties).message_id == "m"
    assert map_of(out.annotations)["x-opt-orig-expiry"] == expires


def test_a_message_that_is_resubmitted_is_dead_no_more() -> None:
    again = COPY | {"_BRK_RESUBMIT_COUNT": 1}
    message = came(application({"_BRK_DEATH_REASON": "forged", "n": Int(1)}) + data())

    out = split(sent(message, properties={"n": 1} | again))

    assert map_of(out.application_properties) == {"n": 1} | again
    assert out.annotations == b""


def test_what_a_sender_writes_makes_no_dead_letter() -> None:
    forged = application({"_BRK_DEATH_REASON": "forged", "_AMQ_ORIG_QUEUE": "none"})

    assert without_header(sent(came(forged + data()))) == forged + data()


@given(BARE)
def test_a_dead_letter_of_any_message_differs_in_nothing_else(bare: bytes) -> None:
    letter = came(bare)
    told = {**letter.properties, **DEATH}
    out = split(
        sent(
            letter,
            properties=told,
            expires_at=NOON + minutes(1),
            descriptor={"format": "MQDEAD"},
            headers=b"DLH ",
        )
    )

    was = split(bare)
    said, stated = properties_of(out.properties), properties_of(was.properties)
    added = map_of(out.annotations)
    original = stated.absolute_expiry_time
    assert (out.body, out.footer) == (was.body, was.footer)
    assert added.pop("x-opt-orig-expiry", None) == original
    assert said == replace(stated, absolute_expiry_time=None)
    assert repr(map_of(out.application_properties)) == repr(
        map_of(was.application_properties) | DEATH
    )
    assert repr(added).startswith(repr(map_of(was.annotations))[:-1])
    assert {"x-opt-ibm-format", "x-opt-death-reason"} < set(added)


@pytest.mark.parametrize("said", [{}, {"to": "orders"}, {"message_id": "order-7"}])
def test_a_client_of_azure_gets_an_id_and_the_end_of_the_lock(
    said: dict[str, str],
) -> None:
    delivery = kept(came(annotated(x_opt_mine="m") + properties(**said) + data()))

    out = split(to_send(delivery, now=NOON, as_azure=True))

    found = properties_of(out.properties)
    own = f"ID:{own_id(delivery, settings.BROKER_NAME).hex()}"
    assert found.message_id == said.get("message_id", own)
    assert found.to == said.get("to")
    assert out.body == data()
    notes = map_of(out.annotations)
    assert notes == {"x-opt-mine": "m", "x-opt-locked-until": Timestamp(LAST_MS)}
