"""The transformer ``headers``: what is set, renamed and removed, and of what type."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.bridges.transformers import headers
from broker.bridges.transformers.registry import check
from tests.amqp.written import application, came, data, properties, sent
from tests.broker.bridges.transforming import (
    failure,
    make_message,
    transformed,
    wrong,
)


def test_properties_are_set_renamed_and_removed() -> None:
    message = make_message(properties={"old": [1], "password": "x", "region": "south"})

    after = transformed(
        "headers",
        message,
        {
            "set.region": "north",
            "set.amount:int": "5",
            "rename.old": "new",
            "rename.absent": "nowhere",
            "remove.password": "",
            "remove.absent too": "",
        },
    )

    assert after.properties == {"region": "north", "amount": 5, "new": [1]}
    assert message.properties["region"] == "south"


def test_headers_are_set() -> None:
    after = transformed(
        "headers",
        make_message(properties={"JMSType": "hidden"}),
        {
            "set.JMSType": "order.v2",
            "set.JMSPriority": "7",
            "set.JMSReplyTo": "answers",
            "set.JMSCorrelationID": "c-17",
            "set.JMSXGroupID": "g",
            "set.JMSDeliveryMode": "NON_PERSISTENT",
            "set.content-type": "application/xml",
        },
    )

    assert after == make_message(
        properties={"JMSType": "hidden"},
        subject="order.v2",
        priority=7,
        reply_to="answers",
        correlation_id="c-17",
        group_id="g",
        durable=False,
        content_type="application/xml",
    )


def test_headers_are_renamed_and_removed() -> None:
    message = make_message(
        subject="order", correlation_id="c-17", reply_to="x", properties={"group": "g"}
    )

    after = transformed(
        "headers",
        message,
        {
            "rename.JMSCorrelationID": "correlation",
            "rename.group": "JMSXGroupID",
            "remove.JMSType": "",
            "remove.JMSReplyTo": "",
        },
    )

    assert after == make_message(properties={"correlation": "c-17"}, group_id="g")


def test_renames_are_all_done_at_once() -> None:
    message = make_message(properties={"a": 1, "b": 2})

    after = transformed("headers", message, {"rename.a": "b", "rename.b": "a"})

    assert after.properties == {"a": 2, "b": 1}


def test_a_header_that_was_sent_by_amqp_is_another_one_when_it_is_sent_on() -> None:
    message = came(
        properties(subject="old", correlation_id="c-17")
        + application({"amount": "five", "x": 1})
        + data()
    )

    after = transformed(
        "headers",
        message,
        {"set.amount:int": "5", "set.JMSType": "new", "remove.JMSCorrelationID": ""},
    )

    again = came(sent(after))
    assert again.properties == {"amount": 5, "x": 1}
    assert (again.subject, again.correlation_id) == ("new", None)


def test_only_text_can_be_a_header() -> None:
    message = make_message(properties={"group": 17})

    assert failure("headers", message, {"rename.group": "JMSXGroupID"}) == (
        "Only text can be JMSXGroupID, and this is 17."
    )


def test_what_ibms_headers_say_as_well_is_not_changed_in_one_place_alone() -> None:
    why = failure("headers", make_message(headers=b"RFH "), {"set.a": "b"})

    assert why.startswith("IBM MQ headers before the body")


@given(st.sampled_from(sorted(headers.BITS)), st.integers(-(2**65), 2**65))
def test_whole_numbers_are_those_of_their_type(kind: str, number: int) -> None:
    bits = headers.BITS[kind]
    key = f"set.n:{kind}"

    if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        after = transformed("headers", make_message(), {key: str(number)})
        assert after.properties == {"n": number}
        assert type(after.properties["n"]) is int
    else:
        assert wrong("headers", {key: str(number)}).endswith(f"which is no {kind}.")


@given(st.sampled_from(["float", "double"]), st.floats())
def test_other_numbers_keep_their_value(kind: str, number: float) -> None:
    key = f"set.n:{kind}"

    if math.isfinite(number):
        after = transformed("headers", make_message(), {key: repr(number)})
        assert after.properties == {"n": number}
        assert type(after.properties["n"]) is float
    else:
        assert wrong("headers", {key: str(number)}).endswith(f"which is no {kind}.")


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_texts_stay_as_they_are(text: str) -> None:
    for key in ("set.a", "set.a:string", "set.JMSType"):
        after = transformed("headers", make_message(), {key: text})
        assert text in (after.properties.get("a"), after.subject)


@given(st.text(), st.sampled_from(headers.TYPES))
def test_whatever_is_written_is_a_value_of_its_type_or_refused(
    text: str, kind: str
) -> None:
    kinds = {"string": str, "boolean": bool, "float": float, "double": float}
    try:
        check("headers", {f"set.a:{kind}": text})
    except ValueError:
        return
    value = headers.value_of(kind, text, "set.a")
    assert type(value) is kinds.get(kind, int)
    json.dumps(value, allow_nan=False)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "There is nothing to change. Write a property such as set.NAME."),
        (
            {"sett.a": "1"},
            "There is no property 'sett.a'. Write set.NAME, rename.OLD or remove.NAME.",
        ),
        (
            {"set.": "1"},
            "There is no property 'set.'. Write set.NAME, rename.OLD or remove.NAME.",
        ),
        (
            {"set.a:itn": "1"},
            "set.a:itn: there is no type 'itn'. There are string, boolean, byte, short,"
            " int, long, float, double.",
        ),
        ({"set.a:boolean": "yes"}, "set.a:boolean is 'yes', which is no boolean."),
        ({"set.a:int": "5.0"}, "set.a:int is '5.0', which is no int."),
        ({"set.a:int": "1_000"}, "set.a:int is '1_000', which is no int."),
        ({"set.a:double": "1_0.5"}, "set.a:double is '1_0.5', which is no double."),
        ({"set.a:int": "٣"}, "set.a:int is '٣', which is no int."),
        ({"set.a:int": ""}, "set.a:int is '', which is no int."),
        ({"set.a": "b\0"}, "set.a is 'b\\x00', which is no string."),
        ({"set.a": "1", "set.a:int": "1"}, "a is set twice."),
        (
            {"rename.a": "c", "rename.b": "c"},
            "Two properties are renamed to c. Remove one.",
        ),
        (
            {"rename.a": "b", "set.b": "1"},
            "b is set, and another is renamed to it. Keep one.",
        ),
        (
            {"remove.a": "", "set.a": "1"},
            "a is removed, and also set or renamed. Keep one.",
        ),
        (
            {"remove.a": "", "rename.a": "b"},
            "a is removed, and also set or renamed. Keep one.",
        ),
        ({"remove.a": "x"}, "remove.a has a value. Leave it empty."),
        ({"remove.JMSPriority": ""}, "Every message has JMSPriority. Set it instead."),
        (
            {"rename.a": "content-type"},
            "Every message has content-type. Set it instead.",
        ),
        ({"set.JMSPriority": "10"}, "set.JMSPriority is '10', and not from 0 to 9."),
        ({"set.JMSPriority": "²"}, "set.JMSPriority is '²', and not from 0 to 9."),
        (
            {"set.JMSPriority:int": "5"},
            "JMSPriority has a fixed type. Write set.JMSPriority.",
        ),
        (
            {"set.JMSDeliveryMode": "2"},
            "set.JMSDeliveryMode is '2'. Write PERSISTENT or NON_PERSISTENT.",
        ),
        (
            {"set.content-type": ""},
            "set.content-type is empty. Write one, such as text/plain.",
        ),
        (
            {"set.JMSMessageID": "x"},
            "JMSMessageID cannot be changed. These can: JMSType, JMSCorrelationID,"
            " JMSReplyTo, JMSXGroupID, JMSPriority, JMSDeliveryMode, content-type.",
        ),
        (
            {"set._AMQ_ORIG_QUEUE": "x"},
            "_AMQ_ORIG_QUEUE is set by the broker only.",
        ),
        ({"rename.a": ""}, "'' cannot be the name of a property."),
        ({"rename.a": "b\n"}, "'b\\n' cannot be the name of a property."),
    ],
)
def test_wrong_headers_are_refused_at_save(
    asked: dict[str, str], sentence: str
) -> None:
    assert wrong("headers", asked) == sentence
