"""Transformers that come with the broker: ``json-patch`` and ``route``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker.bridges.providers.interface import Destination
from broker.bridges.transformers.registry import BranchTo, NoTransfer, check
from broker.formats.patches import LARGEST
from tests.broker.bridges.transforming import (
    failure,
    here,
    make_message,
    transformed,
    wrong,
)

JSON = "application/json"
EUR = '[{"op": "replace", "path": "/currency", "value": "EUR"}]'


# json-patch


@pytest.mark.spec("BRIDGE-5")
def test_a_patch_changes_the_body_and_nothing_else() -> None:
    body = b'{"currency": "USD", "amount": 17.50}'
    message = make_message(body, content_type=JSON, properties={"a": 1}, priority=7)

    after = transformed("json-patch", message, {"patch": EUR})

    assert after.body == b'{"currency": "EUR", "amount": 17.50}'
    assert (after.content_type, after.properties) == (JSON, {"a": 1})
    assert after.priority == 7


def test_what_is_already_as_the_patch_would_make_it_stays_so() -> None:
    message = make_message(b'{ "currency":"EUR" }', content_type=JSON)

    assert transformed("json-patch", message, {"patch": EUR}) == message


def test_a_patch_may_say_what_the_body_is_afterwards() -> None:
    asked = {"patch": EUR, "content-type": "application/vnd.order+json"}

    for currency in ("USD", "EUR"):
        body = json.dumps({"currency": currency}).encode()
        after = transformed("json-patch", make_message(body), asked)
        assert after.content_type == "application/vnd.order+json"
        assert json.loads(after.body) == {"currency": "EUR"}


def test_a_whole_patch_of_an_operation_does_too() -> None:
    document = {
        "body": {"merge": {"secret": None}},
        "headers": [
            {"op": "set", "name": "subject", "value": "order.v2"},
            {"op": "rename", "name": "h.custmer", "to": "h.customer"},
            {"op": "remove", "name": "h.old"},
        ],
    }
    message = make_message(
        b'{"secret": 1, "n": 2}', properties={"custmer": 17, "old": True, "x": 0.5}
    )

    after = transformed("json-patch", message, {"patch": json.dumps(document)})

    assert after.body == b'{"n": 2}'
    assert after.subject == "order.v2"
    assert after.properties == {"customer": 17, "x": 0.5}


@pytest.mark.parametrize(
    ("body", "patch", "why"),
    [
        (
            b"no JSON",
            EUR,
            "The body is not JSON, or an object in it has a duplicate key.",
        ),
        (b"[]", EUR, "The message has no value at the path /currency of the patch."),
        (
            b'{"a": 1}',
            '[{"op": "add", "path": "/b/c", "value": 1}]',
            "The message has no value at the path /b/c of the patch.",
        ),
        (
            b'{"a": 2}',
            '[{"op": "test", "path": "/a", "value": 1},'
            ' {"op": "add", "path": "/b", "value": 1}]',
            "A test operation of the patch failed for this message.",
        ),
        (bytes(LARGEST + 1), EUR, "The body is, or would be, above 1 MiB."),
    ],
)
def test_a_patch_that_does_not_fit_is_a_failure(
    body: bytes, patch: str, why: str
) -> None:
    assert failure("json-patch", make_message(body), {"patch": patch}) == why


def test_a_patch_does_not_change_what_ibms_headers_say_as_well() -> None:
    patch = '{"headers": [{"op": "set", "name": "subject", "value": "x"}]}'
    message = make_message(headers=b"RFH ")

    assert failure("json-patch", message, {"patch": patch}) == (
        "The patch would change fields that IBM MQ headers repeat."
    )


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "The property patch is missing."),
        ({"patch": EUR, "pach": ""}, "There is no property 'pach'."),
        ({"patch": EUR, "content-type": " "}, "The property content-type is empty."),
        ({"patch": "[]"}, "The patch is not valid. It would change nothing"),
        ({"patch": "[{]"}, "The patch is not valid. It is not JSON: "),
        (
            {"patch": "nothing"},
            "The patch is not valid. Line 1, column 1: it is not JSON",
        ),
        (
            {"patch": '[{"op": "ad", "path": "/a"}]'},
            "The patch is not valid. Body, operation 1: ",
        ),
        ({"patch": '{"boddy": 1}'}, "The patch is not valid. There is no part “boddy”"),
        (
            {"patch": f"[{' ' * 2**16}]"},
            "The patch is not valid. It is longer than 65,536",
        ),
    ],
)
def test_a_wrong_patch_is_refused_at_save(asked: dict[str, str], sentence: str) -> None:
    assert wrong("json-patch", asked).startswith(sentence)


# route

ROUTES = {
    "when.10": "region IS NOT NULL",
    "to.10": "topic:regions.others",
    "when.1": "region = 'north' AND amount > 100",
    "to.1": "queue:orders.north",
    "when.2": "test",
    "to.2": "refuse",
    "when.3": "JMSPriority = 9",
    "to.3": "target",
}


@pytest.mark.spec("BRIDGE-6")
@pytest.mark.parametrize(
    ("fields", "way"),
    [
        ({"properties": {"region": "north", "amount": 101}}, "queue:orders.north"),
        ({"properties": {"region": "north", "amount": 100}}, "topic:regions.others"),
        ({"properties": {"region": "south", "test": True}}, None),
        ({"properties": {"region": "south"}, "priority": 9}, "target"),
        ({}, "queue:rest"),
    ],
)
def test_the_first_selector_that_matches_decides(
    fields: dict[str, Any], way: str | None
) -> None:
    message = make_message(**fields)
    asked = ROUTES | {"otherwise": "queue:rest"}
    check("route", asked)

    after = here("route", message, **asked)

    if way is None:
        assert after == NoTransfer()
    elif way == "target":
        assert after == message
    else:
        assert isinstance(after, BranchTo)
        assert str(after.destination) == way
        assert after.message == message


@pytest.mark.spec("BRIDGE-6")
@pytest.mark.parametrize(
    ("otherwise", "outcome"),
    [
        ({}, make_message()),
        ({"otherwise": "target"}, make_message()),
        ({"otherwise": "refuse"}, NoTransfer()),
        (
            {"otherwise": "topic:a:b"},
            BranchTo(Destination("a:b", is_topic=True), make_message()),
        ),
    ],
)
def test_what_no_selector_matches_goes_the_other_way(
    otherwise: dict[str, str], outcome: Any
) -> None:
    assert here("route", None, **ROUTES | otherwise) == outcome


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({}, "There are no rules. Write when.1 and to.1."),
        (
            {"wenn.1": "a"},
            "There is no property 'wenn.1'. Write when.1, to.1, when.2, to.2 and so on,"
            " and otherwise.",
        ),
        (
            {"when.01": "a"},
            "There is no property 'when.01'. Write when.1, to.1, when.2, to.2 and so"
            " on, and otherwise.",
        ),
        ({"when.1": "a"}, "when.1 has no to.1. Write both."),
        ({"to.2": "refuse"}, "to.2 has no when.2. Write both."),
        (
            {"when.1": "a =", "to.1": "refuse"},
            "when.1: The selector is wrong at character 4: ",
        ),
        (
            {"when.1": "a", "to.1": "orders"},
            "to.1 is 'orders'. Write queue:NAME, topic:NAME, target or refuse.",
        ),
        (
            {"otherwise": "queue: "},
            "otherwise is 'queue: '. Write queue:NAME, topic:NAME, target or refuse.",
        ),
    ],
)
def test_wrong_routes_are_refused_at_save(asked: dict[str, str], sentence: str) -> None:
    assert wrong("route", asked).startswith(sentence)
