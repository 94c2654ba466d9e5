"""Patches of bodies: the RFCs' own examples, and what no patch may do."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.formats import lossless_json, patches
from broker.formats.patches import LARGEST, Misfit, Repair, Subject, Unfit
from broker.formats.patches.differences import ValueChange
from tests.broker.formats.test_lossless_json import VALUES, exact

JSON = "application/json"


def subject(body: Any, **headers: Any) -> Subject:
    text = body if isinstance(body, str) else json.dumps(body)
    return Subject({"content-type": JSON, **headers}, text.encode())


def patched(body: Any, *operations: dict[str, Any]) -> Any:
    patch = patches.parse(json.dumps({"body": {"patch": operations}}))
    repair = patches.apply(patch, subject(body))
    assert repair.body is not None
    return json.loads(repair.body)


def misfit(body: Any, *operations: dict[str, Any]) -> Misfit:
    patch = patches.parse(json.dumps({"body": {"patch": operations}}))
    with pytest.raises(Unfit) as unfit:
        patches.apply(patch, subject(body))
    return unfit.value.misfit


# RFC 6902, appendix A: before, patch, after.
EXAMPLES = """\
A.1
{"foo": "bar"}
[{"op": "add", "path": "/baz", "value": "qux"}]
{"baz": "qux", "foo": "bar"}
A.2
{"foo": ["bar", "baz"]}
[{"op": "add", "path": "/foo/1", "value": "qux"}]
{"foo": ["bar", "qux", "baz"]}
A.3
{"baz": "qux", "foo": "bar"}
[{"op": "remove", "path": "/baz"}]
{"foo": "bar"}
A.4
{"foo": ["bar", "qux", "baz"]}
[{"op": "remove", "path": "/foo/1"}]
{"foo": ["bar", "baz"]}
A.5
{"baz": "qux", "foo": "bar"}
[{"op": "replace", "path": "/baz", "value": "boo"}]
{"baz": "boo", "foo": "bar"}
A.6
{"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}}
[{"op": "move", "from": "/foo/waldo", "path": "/qux/thud"}]
{"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}}
A.7
{"foo": ["all", "grass", "cows", "eat"]}
[{"op": "move", "from": "/foo/1", "path": "/foo/3"}]
{"foo": ["all", "cows", "eat", "grass"]}
A.10
{"foo": "bar"}
[{"op": "add", "path": "/child", "value": {"grandchild": {}}}]
{"foo": "bar", "child": {"grandchild": {}}}
A.11
{"foo": "bar"}
[{"op": "add", "path": "/baz", "value": "qux", "xyz": 123}]
{"foo": "bar", "baz": "qux"}
A.16
{"foo": ["bar"]}
[{"op": "add", "path": "/foo/-", "value": ["abc", "def"]}]
{"foo": ["bar", ["abc", "def"]]}
""".splitlines()


@pytest.mark.parametrize("at", range(0, len(EXAMPLES), 4), ids=lambda at: EXAMPLES[at])
def test_the_examples_of_rfc_6902(at: int) -> None:
    before, operations, after = map(json.loads, EXAMPLES[at + 1 : at + 4])

    assert patched(before, *operations) == after


CHANGE = {"op": "add", "path": "/done", "value": True}


@pytest.mark.parametrize(
    ("body", "test", "why"),
    [
        ({"baz": "qux"}, {"path": "/baz", "value": "bar"}, Misfit.GUARD_FAILED),
        ({"/": 9, "~1": 10}, {"path": "/~01", "value": "10"}, Misfit.GUARD_FAILED),
        ({"a": 1}, {"path": "/a", "value": True}, Misfit.GUARD_FAILED),
        ({"a": "b"}, {"path": "/a/0", "value": "b"}, Misfit.GUARD_FAILED),
        ({}, {"path": "/nothing", "value": None}, Misfit.GUARD_FAILED),
    ],
)
def test_a_test_that_fails_leaves_the_message(
    body: Any, test: Any, why: Misfit
) -> None:
    assert misfit(body, {"op": "test", **test}, CHANGE) is why


@pytest.mark.parametrize(
    ("body", "test"),
    [
        ({"baz": "qux", "foo": ["a", 2, "c"]}, {"path": "/foo/1", "value": 2}),
        ({"/": 9, "~1": 10}, {"path": "/~01", "value": 10}),
        (
            '{"a": 12345678901234567890.0}',
            {"path": "/a", "value": 12345678901234567890},
        ),
        ({"a": {"x": 1, "y": 2}}, {"path": "/a", "value": {"y": 2, "x": 1}}),
    ],
)
def test_a_test_that_holds_lets_the_rest_be_done(body: Any, test: Any) -> None:
    assert patched(body, {"op": "test", **test}, CHANGE)["done"] is True


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/baz/bat", "value": "qux"},  # appendix A.12
        {"op": "remove", "path": "/nothing"},
        {"op": "replace", "path": "/nothing", "value": 1},
        {"op": "move", "from": "/nothing", "path": "/a"},
        {"op": "copy", "from": "/list/2", "path": "/a"},
        {"op": "add", "path": "/list/3", "value": 1},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "add", "path": "/list/1e0", "value": 1},
        {"op": "remove", "path": "/list/-"},
        {"op": "remove", "path": ""},
        {"op": "move", "from": "/foo", "path": "/foo/in"},
        {"op": "replace", "path": "/foo/bar/0", "value": "B"},
    ],
)
def test_a_path_that_leads_nowhere_leaves_the_message(operation: Any) -> None:
    body = {"foo": {"bar": "b"}, "list": [1, 2]}

    assert misfit(body, operation) is Misfit.NO_SUCH_PATH


MERGES = [  # RFC 7386, appendix A
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("body", "merge", "after"), MERGES)
def test_the_examples_of_rfc_7386(body: Any, merge: Any, after: Any) -> None:
    patch = patches.parse(json.dumps({"body": {"merge": merge}}))

    repair = patches.apply(patch, subject(body))

    assert json.loads(repair.body or b"") == after


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=5), VALUES)
def test_what_a_patch_does_not_touch_stays_the_same_value(
    body: dict[str, Any], value: Any
) -> None:
    body.pop("new", None)
    text = lossless_json.dumps(body, lossless_json.Manner(is_ascii=True))
    operation = {"op": "add", "path": "/new", "value": value}
    patch = patches.parse(lossless_json.dumps({"body": {"patch": [operation]}}))

    repair = patches.apply(patch, subject(text))

    after = lossless_json.loads((repair.body or b"").decode())
    assert exact(after) == exact(body | {"new": value})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{"id": 12345678901234567890123, "price": 1.10, "currency": "XBT"}',
            '{"id": 12345678901234567890123, "price": 1.10, "currency": "EUR"}',
        ),
        ('\ufeff{"z":1e2,"currency":"é"}\r\n', '\ufeff{"z":1e2,"currency":"EUR"}\r\n'),
        (
            '{\n  "currency": "é",\n  "a": []\n}',
            '{\n  "currency": "EUR",\n  "a": []\n}',
        ),
    ],
)
def test_digits_order_and_manner_are_kept(before: str, after: str) -> None:
    patch = patches.parse('{"body": {"merge": {"currency": "EUR"}}}')

    assert patches.apply(patch, subject(before)).body == after.encode()


def test_a_character_set_is_kept() -> None:
    headers = {"content-type": "application/json; charset=iso-8859-1"}
    body = '{"name": "é", "a": 1}'.encode("latin-1")
    patch = patches.parse('{"body": {"merge": {"a": 2}}}')

    repair = patches.apply(patch, Subject(headers, body))

    assert repair.body == '{"name": "é", "a": 2}'.encode("latin-1")


@pytest.mark.parametrize("body", ["{", '{"a": 1, "a": 2}', "[NaN]", "\0", "[" * 9999])
def test_what_is_not_json_is_left(body: str) -> None:
    assert misfit(body, CHANGE) is Misfit.NOT_JSON


def test_a_patch_that_changes_nothing_leaves_the_message() -> None:
    body = {"currency": "EUR"}

    same = {"op": "replace", "path": "/currency", "value": "EUR"}

    assert misfit(body, same) is Misfit.UNCHANGED


HOSTILE = [
    [{"op": "copy", "from": "", "path": "/a"}] * 100,
    [{"op": "copy", "from": "/list", "path": "/list/-"}] * 100,
    [{"op": "add", "path": "/list/0", "value": ["x" * 500] * 100}] * 1
    + [{"op": "copy", "from": "/list", "path": "/list/-"}] * 99,
    [{"op": "test", "path": "", "value": 1}] * 99 + [CHANGE],
]


@pytest.mark.thorough
@pytest.mark.parametrize("operations", HOSTILE)
def test_a_hostile_patch_ends_soon(operations: list[dict[str, Any]]) -> None:
    began = time.monotonic()

    why = misfit({"list": list(range(1000))}, *operations)

    assert why in (Misfit.TOO_LARGE, Misfit.GUARD_FAILED)
    assert time.monotonic() - began < 10


def test_a_body_that_is_too_large_is_left_before_and_after() -> None:
    patch = patches.parse(json.dumps({"body": {"patch": [CHANGE]}}))
    large = Subject({"content-type": JSON}, None)
    growing = subject(json.dumps({"a": "x" * (LARGEST - 15)}))

    for one in (large, growing):
        with pytest.raises(Unfit) as unfit:
            patches.apply(patch, one)
        assert unfit.value.misfit is Misfit.TOO_LARGE


def test_changes_are_told_by_where_they_are() -> None:
    before = {"lines": [{"price": 1}, {"price": 2}], "currency": "XBT", "old": 0}
    after = {"lines": [{"price": 1.5}, {"price": 2}], "currency": "EUR", "new": [1]}
    found = subject(before, subject="a")
    repair = Repair(json.dumps(after).encode(), {"subject": "b"})

    told = patches.changes(found, repair)

    assert [(one.where, one.before, one.after) for one in told] == [
        ("subject", '"a"', '"b"'),
        ("/lines/0/price", "1", "1.5"),
        ("/currency", '"XBT"', '"EUR"'),
        ("/old", "0", None),
        ("/new", None, "[1]"),
    ]
    assert told[1].kind == "replace /lines/*/price"


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("17", "17.5", "replace /a"),
        ("17", '"17"', "replace /a (number becomes text)"),
        ("true", "null", "replace /a (boolean becomes null)"),
        ("{}", "[]", "replace /a (object becomes array)"),
    ],
)
def test_a_change_of_the_type_is_named(before: str, after: str, kind: str) -> None:
    assert ValueChange("/a", before, after).kind == kind
