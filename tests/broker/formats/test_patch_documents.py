"""Patches as they are written, and what they do to headers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from broker.errors.patches import InvalidPatch
from broker.formats import lossless_json, patches
from broker.formats.patches import Misfit, Repair, Subject, Unfit
from tests.broker.formats.test_patches import CHANGE, JSON, subject


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "not JSON"),
        ("[]", "an object"),
        ("{}", "change nothing"),
        ('{"body": {"patch": []}}', "change nothing"),
        ('{"body": {"patch": [{"op": "test", "path": "", "value": 1}]}}', "nothing"),
        ('{"body": {"merge": {}}}', "change nothing"),
        ('{"body": {}}', "either"),
        ('{"body": {"patch": [], "merge": {}}}', "either"),
        ('{"bodies": {}}', "no part “bodies”"),
        ('{"body": {"patch": [{"op": "add", "path": "/a"}]}}', "operation 1: “value”"),
        ('{"body": {"patch": [{"op": "spam", "path": "/a"}]}}', "unknown operation"),
        ('{"body": {"patch": [{"op": "remove"}]}}', "'path'"),
        ('{"body": {"patch": [{"op": "remove", "path": "a"}]}}', "a path is wrong"),
        ('{"body": {"patch": [{"op": "remove", "path": "/~2"}]}}', "a path is wrong"),
        ('{"body": {"patch": [{"op": "remove", "path": 1}]}}', "path"),
        ('{"body": {"patch": [{"op": "move", "path": "/a"}]}}', "“from” is missing"),
        ('{"body": {"patch": [{"op": "move", "path": "/a", "from": 1}]}}', "“from” is"),
        ('{"body": {"patch": [1]}}', "an object"),
        ('{"body": {"merge": {"a": 1, "a": 2}}}', "twice"),
        ('{"headers": [{"op": "set", "name": "tenant", "value": 1}]}', "h.name"),
        ('{"headers": [{"op": "set", "name": "h.", "value": 1}]}', "h.name"),
        ('{"headers": [{"op": "set", "name": "subject", "value": 1}]}', "only text"),
        ('{"headers": [{"op": "set", "name": "subject"}]}', "“value” is missing"),
        (
            '{"headers": [{"op": "set", "name": "h._AMQ_X", "value": 1}]}',
            "by the broker only",
        ),
        (
            '{"headers": [{"op": "rename", "name": "h.a", "to": "h._BRK_X"}]}',
            "by the broker only",
        ),
        ('{"headers": [{"op": "remove", "name": "content-type"}]}', "set it instead"),
        ('{"headers": [{"op": "rename", "name": "h.a", "to": "subject"}]}', "text"),
        ('{"headers": [{"op": "set", "name": "h.a", "value": "\\u0000"}]}', "kept"),
        ('{"headers": [{"op": "set", "name": "h.a", "value": "\\ud800"}]}', "kept"),
        ('{"headers": [{"op": "set", "name": "h.a", "value": []}]}', "a property is"),
        ('{"headers": [{"op": "drop", "name": "h.a"}]}', "one of test"),
        ('{"headers": [{"op": "remove", "name": "h.a", "value": 1}]}', "has no"),
        ('{"headers": {}}', "a list"),
        (json.dumps({"body": {"patch": [CHANGE] * 101}}), "at most 100"),
        (json.dumps({"body": {"merge": {"a": "x" * 70_000}}}), "longer than"),
        ('{"body": {"merge": ' + "[" * 5000 + "]" * 5000 + "}}", "nested"),
    ],
)
def test_what_is_no_patch_says_why(said: str, why: str) -> None:
    with pytest.raises(InvalidPatch, match=why):
        patches.parse(said)


@pytest.mark.parametrize(
    "said",
    [
        '{"body":{"patch":[{"op":"add","path":"/a","value":1.10}]}}',
        '{"body":{"merge":{"a":12345678901234567890}}}',
        '{"headers":[{"op":"test","name":"h._AMQ_ORIG_QUEUE","value":"orders"},'
        '{"op":"set","name":"h.a","value":1.10},{"op":"remove","name":"subject"},'
        '{"op":"rename","name":"h.b","to":"h.c"}]}',
    ],
)
def test_a_patch_is_kept_as_it_was_said(said: str) -> None:
    assert patches.written(patches.parse(said)) == said


def test_headers_are_changed_in_the_order_of_the_operations() -> None:
    operations = [
        {"op": "test", "name": "h.tenant", "value": "t7"},
        {"op": "rename", "name": "h.tenant", "to": "h.customer"},
        {"op": "remove", "name": "reply-to"},
        {"op": "set", "name": "subject", "value": "corrected"},
    ]
    found = Subject(
        {"content-type": JSON, "reply-to": "here", "h.tenant": "t7", "h.a": None}, b""
    )

    repair = patches.apply(patches.parse(json.dumps({"headers": operations})), found)

    assert repair == Repair(
        None,
        {"h.customer": "t7", "subject": "corrected"},
        frozenset({"h.tenant", "reply-to"}),
    )
    assert repair.columns == {"reply_to": None, "subject": "corrected"}
    assert repair.properties == {"customer": "t7"}
    assert repair.properties_gone == ["tenant"]


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "test", "name": "h.a", "value": True}, Misfit.GUARD_FAILED),
        ({"op": "test", "name": "h.b", "value": None}, Misfit.GUARD_FAILED),
        ({"op": "remove", "name": "h.b"}, Misfit.NO_SUCH_PATH),
        ({"op": "rename", "name": "h.b", "to": "h.c"}, Misfit.NO_SUCH_PATH),
    ],
)
def test_a_header_that_is_not_so_leaves_the_message(
    operation: dict[str, Any], why: Misfit
) -> None:
    change = {"op": "set", "name": "subject", "value": "x"}
    patch = patches.parse(json.dumps({"headers": [operation, change]}))

    with pytest.raises(Unfit) as unfit:
        patches.apply(patch, subject({}, **{"h.a": lossless_json.Number("1")}))

    assert unfit.value.misfit is why


def test_what_ibm_s_headers_say_too_is_left() -> None:
    patch = patches.parse('{"headers": [{"op": "set", "name": "h.a", "value": 1}]}')

    with pytest.raises(Unfit) as unfit:
        patches.apply(patch, Subject({"content-type": JSON}, b"", is_locked=True))

    assert unfit.value.misfit is Misfit.LOCKED
