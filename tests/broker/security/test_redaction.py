"""What rules mask in a body and beside it, whatever that body is."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.formats import lossless_json
from broker.models import RedactionRule
from broker.security.redaction import HIDDEN, targets
from broker.security.redaction.masking import (
    MaskedBody,
    mask_body,
    mask_properties,
)

JSON, XML, HL7 = "application/json", "application/xml", "application/hl7-v2"
MARK = "••• masked by rule R"


def rule(kind: str, target: str, name: str = "R") -> RedactionRule:
    targets.read(kind, target)
    return RedactionRule(name=name, kind=kind, target=target)


def seen(body: str | bytes, *rules: RedactionRule, type_: str = JSON) -> MaskedBody:
    return mask_body(body if isinstance(body, bytes) else body.encode(), type_, rules)


@pytest.mark.parametrize(
    ("target", "before", "after"),
    [
        ("/name", {"name": "Eve", "n": 1}, {"name": MARK, "n": 1}),
        ("/name", {"n": {"name": "Eve"}}, {"n": {"name": "Eve"}}),
        ("/**/name", {"n": [{"name": "Eve"}]}, {"n": [{"name": MARK}]}),
        ("/**/name", {"name": {"name": 1}}, {"name": MARK}),
        ("/people/*/name", {"people": [{"name": 1}]}, {"people": [{"name": MARK}]}),
        ("/people/1", {"people": [1, 2]}, {"people": [1, MARK]}),
        ("/a~1b/c~0d", {"a/b": {"c~d": 1}}, {"a/b": {"c~d": MARK}}),
        ("/card", {"card": {"no": [1, 2]}}, {"card": MARK}),
        ("/card", {"card": None}, {"card": MARK}),
        ("/**", {"a": 1}, MARK),
        ("/", {"": 1}, {"": MARK}),
    ],
)
def test_a_pointer_masks_values_of_json(
    target: str, before: object, after: object
) -> None:
    found = seen(json.dumps(before), rule("json", target))

    assert json.loads(found.body) == after
    assert found.is_withheld is False
    assert bool(found.by) is (before != after)


@pytest.mark.parametrize(
    ("target", "before", "after"),
    [
        ("/o/name", "<o><name>Eve</name>x</o>", f"<o><name>{MARK}</name>x</o>"),
        (
            "//name",
            "<o><a><name>E<b/></name></a></o>",
            f"<o><a><name>{MARK}</name></a></o>",
        ),
        ("/o/*", "<o><a>1</a><b>2</b></o>", f"<o><a>{MARK}</a><b>{MARK}</b></o>"),
        (
            "//a/@id",
            '<o><a id="1" k="2">3</a></o>',
            f'<o><a id="{MARK}" k="2">3</a></o>',
        ),
        ("//name", "<name x='1'>Eve</name>", f'<name x="{MARK}">{MARK}</name>'),
        ("/o/name", "<o><name>&#69;ve</name></o>", f"<o><name>{MARK}</name></o>"),
    ],
)
def test_a_path_masks_elements_and_attributes(
    target: str, before: str, after: str
) -> None:
    assert seen(before, rule("xml", target), type_=XML).body.decode() == after


def test_a_path_masks_elements_of_any_namespace_and_comments_are_gone() -> None:
    body = '<o xmlns="urn:x"><!-- Eve --><name>Eve</name></o>'

    text = seen(body, rule("xml", "/o/name"), type_=XML).body.decode()

    assert "Eve" not in text
    assert MARK in text


ADMISSION = (
    "MSH|^~\\&|HIS|WARD|LAB|X|20260314||ADT^A01|77|P|2.5\r"
    "PID|1||123^^^HIS||Doe^Jane^M||19700101|F\r"
    "PV1|1|I|3^B\r"
)


@pytest.mark.parametrize(
    ("target", "gone", "kept"),
    [
        ("PID-5", ["Doe", "Jane"], ["123", "19700101"]),
        ("PID-5.1", ["Doe"], ["Jane", "123"]),
        ("PID-7", ["19700101"], ["Doe"]),
        ("MSH-3", ["|HIS|"], ["WARD", "^^^HIS"]),
        ("OBX-5", [], ["Doe", "123"]),
    ],
)
@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_a_field_of_hl7_is_masked(
    target: str, gone: list[str], kept: list[str], end: str
) -> None:
    found = seen(ADMISSION.replace("\r", end), rule("hl7", target), type_=HL7)

    text = found.body.decode()
    assert [one for one in gone if one in text] == []
    assert [one for one in kept if one not in text] == []
    assert (MARK in text) is bool(gone)


def test_a_field_that_repeats_is_masked_as_a_whole() -> None:
    body = ADMISSION.replace("Doe^Jane^M", "Doe^Jane~Roe^Ann")

    text = seen(body, rule("hl7", "PID-5.2"), type_=HL7).body.decode()

    assert not {"Jane", "Ann", "Roe"} & set(text.replace("^", "|").split("|"))


NAME = rule("json", "/name")


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        (b'{"name": "Eve"', [NAME]),
        (b'{"name": "Eve", "name": "Ann"}', [NAME]),
        (b"name=Eve", [NAME]),
        (b"<name>Eve</name>", [NAME]),
        (b'\xff{"name": "Eve"}', [NAME]),
        (gzip.compress(b'{"name": "Eve"}'), [NAME]),
        (b"[" * 100_000, [NAME]),
        (b'{"a": 1}' + b" " * 2**20, [NAME]),
        (b"<!DOCTYPE x [<!ENTITY a 'Eve'>]><x>&a;</x>", [rule("xml", "//x")]),
        (b"<x>Eve", [rule("xml", "//x")]),
        (b"PID|1||2||Eve", [rule("hl7", "PID-5")]),
        (ADMISSION.replace("Jane", "Ja\rne").encode(), [rule("hl7", "PID-5")]),
        (zlib.compress(b"4111 1111"), [rule("pattern", r"\d{4}")]),
        (base64.b64encode(b"the card is 4111 1111"), [rule("pattern", r"\d{4} ")]),
        (b"\x00\x01 4111", [rule("pattern", r"\d{4}")]),
    ],
    ids=range(15),
)
def test_of_what_cannot_be_read_there_is_length_hash_and_type_only(
    body: bytes, rules: list[RedactionRule]
) -> None:
    found = seen(body, *rules, type_="text/x-any")

    assert found.is_withheld
    digest = hashlib.sha256(body).hexdigest()
    said = f"{MARK}: {len(body):,} bytes of text/x-any, SHA-256 {digest}"
    assert found.body.decode() == said


def test_a_body_is_read_by_the_rules_of_its_own_structure() -> None:
    rules = [NAME, rule("xml", "/o/name", "X"), rule("hl7", "PID-5", "H")]

    assert seen('{"name": "Eve"}', *rules).by == ("R",)
    assert seen("<o><name>Eve</name></o>", *rules, type_=JSON).by == ("X",)
    assert seen(ADMISSION, *rules).by == ("H",)


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("card 4111-1111 here", f"card {MARK} here"),
        ('{"card": "4111-1111"}', f'{{"card": "{MARK}"}}'),
        (r'{"card": "\u0034111-1111"}', f'{{"card": "{MARK}"}}'),
        ("<c>&#52;111-1111</c>", f"<c>{MARK}</c>"),
        ("no card", "no card"),
        ("für 4111-1111 €", f"für {MARK} €"),
    ],
)
def test_an_expression_masks_what_it_matches_however_it_is_spelled(
    body: str, after: str
) -> None:
    found = seen(body, rule("pattern", r"\d{4}-\d{4}"), type_="text/plain")

    assert found.body.decode() == after
    assert found.by == (("R",) if body != after else ())


def test_numbers_of_json_are_texts_to_an_expression() -> None:
    found = seen('{"n": 41111111, "m": 1.50}', rule("pattern", r"^\d{8}$"))

    assert lossless_json.loads(found.body.decode())["n"] == MARK
    assert b"1.50" in found.body


def test_a_character_set_without_dots_has_stars() -> None:
    body = '{"name": "Zoë"}'.encode("latin-1")

    found = seen(body, NAME, type_="application/json; charset=iso-8859-1")

    assert json.loads(found.body.decode("latin-1")) == {"name": "*** masked by rule R"}


def test_nothing_of_a_body_changes_in_which_nothing_is_masked() -> None:
    body = b'{ "other":1.0,\r\n"b" : [ ] }'

    assert seen(body, NAME) == MaskedBody(body)
    assert seen(b"", NAME) == MaskedBody(b"")
    assert seen(b"\xff", rule("property", "x")) == MaskedBody(b"\xff")


def test_properties_are_masked_by_name_and_by_what_is_in_them() -> None:
    rules = [rule("property", "patient*"), rule("pattern", "41+", "P")]
    properties = {
        "patient_id": 7,
        "Patient": {"a": 1},
        "x": "a 411",
        "n": 411,
        "t": True,
    }

    told, by = mask_properties(properties | {"l": ["41", None]}, rules)

    assert told == {
        "patient_id": MARK,
        "Patient": MARK,
        "x": "a ••• masked by rule P",
        "n": "••• masked by rule P",
        "t": True,
        "l": ["••• masked by rule P", None],
    }
    assert by == ("R", "P")


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        *[("json", one) for one in ("name", "", "/a~2", "x/y")],
        *[("xml", one) for one in ("name", "", "/", "/a/", "//", "/a/@b/c", "/a//")],
        *[("hl7", one) for one in ("PID", "PID-0", "pid-5", "PID-5.0", "PID-5.1.1")],
        *[("pattern", one) for one in ("(", "x*", "(?=x)", r"(a)\1", "", "a|")],
        ("property", ""),
        ("pattern", "a" * 257),
    ],
)
def test_a_target_that_means_nothing_is_refused(kind: str, target: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        targets.read(kind, target)


@pytest.mark.parametrize(
    "target", ["(a+)+$", "(a|aa)+$", "(.*a){20}", "a?" * 60 + "a" * 60]
)
def test_no_expression_takes_long(target: str) -> None:
    body = b"a" * 100_000 + b"!"

    assert seen(body, rule("pattern", target), type_="text/plain").body


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "a", "b/c", "*"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_no_value_of_a_name_is_left_at_any_depth(value: object) -> None:
    found = seen(json.dumps(value), rule("json", "/**/name"))

    def left(one: object) -> bool:
        if isinstance(one, dict):
            return any(
                (key == "name" and inner != MARK) or left(inner)
                for key, inner in one.items()
            )
        return isinstance(one, list) and any(map(left, one))

    assert not found.is_withheld
    assert not left(json.loads(found.body))


@given(st.binary(max_size=200), st.sampled_from([JSON, XML, HL7, "text/plain"]))
def test_any_bytes_are_masked_withheld_or_nothing_is_in_them(
    body: bytes, type_: str
) -> None:
    rules = [rule("json", "/**/name"), rule("pattern", "secret")]

    found = seen(body, *rules, type_=type_)

    assert b"secret" not in found.body
    assert found.is_withheld or found.by or found.body == body
    assert not found.by or HIDDEN.encode() in found.body or b"***" in found.body
