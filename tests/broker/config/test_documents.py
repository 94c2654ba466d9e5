"""Address settings go out as a document and come back as they were."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from hypothesis import given
from hypothesis import strategies as st

from broker.config import artemis_elements, artemis_xml, documents
from broker.config.address_settings import DEFAULTS, settings_for
from broker.config.documents import Document, defined
from broker.config.imports import Difference, apply, preview, read
from broker.errors.settings import SettingsChanged, WrongSettings
from broker.models import AddressSetting
from tests.make import make_setting

WHOLE = st.integers(0, 2**62)
NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=9)
TEXTS = st.text(
    st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=30
).filter(str.isprintable)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "max_delivery_attempts": st.integers(-1, 2**31 - 1),
    "redelivery_delay_multiplier": st.floats(1e-9, 1e9),
    "redelivery_collision_avoidance_factor": st.floats(0, 1),
    "poison_policy": st.sampled_from(AddressSetting.PoisonPolicy.values),
} | {
    name: {bool: st.booleans(), str: TEXTS, int: WHOLE}[kind]
    for name, kind in documents.KINDS.items()
    if kind is not float and name not in ("max_delivery_attempts", "poison_policy")
}
SETTINGS = st.lists(
    st.builds(
        AddressSetting,
        match=NAMES.map(lambda name: f"x{name}.#"),
        **{name: st.none() | values for name, values in VALUES.items()},
    ),
    unique_by=lambda one: one.match,
    max_size=4,
)


def contents(settings: Any) -> dict[str, dict[str, Any]]:
    return {one.match: defined(one) for one in settings}


@pytest.mark.spec("MATCH-5")
@given(SETTINGS)
def test_what_is_written_is_read_again(settings: list[AddressSetting]) -> None:
    text = documents.write(settings)

    assert contents(read(text).settings) == contents(settings)
    assert documents.write(read(text).settings) == text


@pytest.mark.spec("MATCH-5")
@given(SETTINGS)
def test_what_artemis_has_an_element_for_comes_back_from_its_xml(
    settings: list[AddressSetting],
) -> None:
    known = {
        match: {k: v for k, v in fields.items() if k in artemis_elements.ELEMENTS}
        for match, fields in contents(settings).items()
    }

    assert contents(read(artemis_xml.write(settings)).settings) == known


def document(*settings: Any, **fields: Any) -> str:
    head = {"format": "backout-address-settings", "version": 1}
    return json.dumps(head | {"settings": settings} | fields)


@pytest.mark.spec("REDEL-2", "MATCH-2", "DLA-1")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "neither JSON"),
        ("settings", "neither JSON"),
        ('{"format": \n}', "Line 2, column 1: This is no JSON"),
        ('{"format": "other"}', '"format" must be'),
        (document(version=2), "Version: Only version 1"),
        (document(more=1), 'must be a list "settings"'),
        ('{"a": 1, "a": 2}', '"a": It is given twice'),
        (document("x"), "Setting 1: It must be an object"),
        (document({"match": 3}), "Setting 1: It must be an object"),
        (document({"match": "a"}, {"match": "a"}), 'setting for "a" already'),
        (document({"match": "a.#.b"}), "# can only be the last word"),
        (document({"match": ""}), "cannot be empty"),
        (document({"match": "a", "colour": 1}), 'Setting 1 ("a"), colour: There is no'),
        (document({"match": "a", "max_delivery_attempts": "3"}), "a whole number"),
        (document({"match": "a", "max_delivery_attempts": 3.5}), "a whole number"),
        (document({"match": "a", "max_delivery_attempts": True}), "a whole number"),
        (document({"match": "a", "max_delivery_attempts": -2}), "-1 for no limit"),
        (document({"match": "a", "redelivery_delay_ms": 2**63}), "less than or equal"),
        (
            document({"match": "a", "redelivery_delay_multiplier": float("nan")}),
            "NaN is no number",
        ),
        (
            document({"match": "a", "redelivery_delay_multiplier": 0}),
            'Setting 1 ("a"), redelivery_delay_multiplier: The multiplier must be',
        ),
        (document({"match": "a", "no_expiry": 1}), "true or false"),
        (document({"match": "a", "poison_policy": ""}), "cannot be empty"),
        (document({"match": "a", "poison_policy": "soft"}), "not a valid choice"),
        (document({"match": "a", "dead_letter_address": "a"}), "its own dead letter"),
        (document({"match": "a", "dead_letter_address": "\0"}), "cannot be seen"),
        (document({"match": "a", "dead_letter_address": "\ud800"}), "cannot be seen"),
        (document({"match": "a" * 256}), "at most 255 characters"),
    ],
)
def test_what_is_wrong_is_refused_whole_with_its_place(text: str, said: str) -> None:
    with pytest.raises(WrongSettings) as refused:
        read(text)
    assert said in str(refused.value)


def test_what_is_too_deep_or_too_long_is_refused() -> None:
    with pytest.raises(WrongSettings, match="This is no JSON"):
        read('{"settings": ' + "[" * 100_000)
    with pytest.raises(WrongSettings, match="above 1 MiB"):
        read(" " * 2**20 + "{}")


@pytest.mark.django_db
def test_a_preview_does_nothing_and_says_what_an_import_does() -> None:
    make_setting("same", max_delivery_attempts=3)
    make_setting("other", max_delivery_attempts=4, dead_letter_address="DLA")
    make_setting("mine", no_expiry=True)
    there = document(
        {"match": "new", "redelivery_delay_ms": 5},
        {"match": "same", "max_delivery_attempts": 3},
        {"match": "other", "max_delivery_attempts": 5},
    )
    before = contents(AddressSetting.objects.all())

    merged = preview(read(there), "merge")
    replaced = preview(read(there), "replace")

    assert contents(AddressSetting.objects.all()) == before
    assert [(one.match, one.deed) for one in merged.changes] == [
        ("new", "added"),
        ("other", "changed"),
        ("same", "unchanged"),
    ]
    assert merged.changes[1].differences == [Difference("max_delivery_attempts", 4, 5)]
    assert [one.match for one in replaced.of("removed")] == ["mine"]
    assert Difference("dead_letter_address", "DLA", None) in (
        replaced.of("changed")[0].differences
    )
    assert merged.token != replaced.token


@pytest.mark.django_db
@pytest.mark.spec("MATCH-6")
def test_merging_keeps_what_the_document_does_not_define_and_holds_at_once() -> None:
    make_setting("other", max_delivery_attempts=4, dead_letter_address="DLA")
    make_setting("mine", no_expiry=True)
    there = read(document({"match": "other", "max_delivery_attempts": 5}))

    apply(there, "merge")

    assert settings_for("other").max_delivery_attempts == 5
    assert contents(AddressSetting.objects.all()) == {
        "mine": {"no_expiry": True},
        "other": {"max_delivery_attempts": 5, "dead_letter_address": "DLA"},
    }
    assert not preview(there, "merge").changes_anything


@pytest.mark.django_db
@pytest.mark.spec("MATCH-6")
def test_replacing_makes_the_settings_what_the_document_says() -> None:
    make_setting("other", max_delivery_attempts=4, dead_letter_address="DLA")
    make_setting("mine", no_expiry=True)
    there = read(document({"match": "other", "dead_letter_address": ""}))

    done = apply(there, "replace")

    assert done.counts == {"added": 0, "changed": 1, "removed": 1, "unchanged": 0}
    assert contents(AddressSetting.objects.all()) == {
        "other": {"dead_letter_address": ""}
    }


@pytest.mark.django_db
def test_what_was_not_previewed_is_not_applied() -> None:
    setting = make_setting("other", max_delivery_attempts=4)
    there = read(document({"match": "other", "max_delivery_attempts": 5}))
    token = preview(there, "merge").token

    AddressSetting.objects.filter(pk=setting.pk).update(max_delivery_attempts=9)

    with pytest.raises(SettingsChanged, match="have changed"):
        apply(there, "merge", token=token)
    assert settings_for("other").max_delivery_attempts == 9
    apply(there, "merge", token=preview(there, "merge").token)
    assert settings_for("other").max_delivery_attempts == 5


@pytest.mark.usefixtures("transactional_db")
def test_an_import_is_all_or_nothing() -> None:
    make_setting("#", max_delivery_attempts=4)
    good = AddressSetting(match="a", max_delivery_attempts=5)
    bad = AddressSetting(match="b", redelivery_delay_multiplier=0)  # nobody checked it

    with pytest.raises(IntegrityError):
        apply(Document([good, bad]), "replace")

    assert contents(AddressSetting.objects.all()) == {"#": {"max_delivery_attempts": 4}}


def run(*words: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("broker_settings", *words, stdout=out, stderr=err, no_color=True)
    return out.getvalue(), err.getvalue()


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["json", "xml"])
def test_the_command_writes_settings_and_takes_them_over(
    form: str, tmp_path: Path
) -> None:
    make_setting("orders.#", max_delivery_attempts=0, poison_policy="both")
    file = tmp_path / "settings"
    exported, noted = run("export", "--format", form)
    file.write_text(exported)
    AddressSetting.objects.all().delete()

    shown, _ = run("import", str(file))
    assert not AddressSetting.objects.exists()
    done, warned = run("import", str(file), "--apply")
    again, _ = run("import", str(file), "--mode", "replace")

    assert "+ orders.#\n    max_delivery_attempts: not defined → 0" in shown
    assert "1 added, 0 changed, 0 removed, 0 unchanged. Nothing is done yet" in shown
    assert "Done: 1 added" in done
    assert "allows 0 delivery attempts" in warned
    assert "There is nothing to do." in again
    assert AddressSetting.objects.get().max_delivery_attempts == 0
    assert ("Artemis has no poison_policy" in noted) == (form == "xml")


@pytest.mark.django_db
def test_the_command_refuses_what_it_cannot_read_and_says_what_it_leaves_out(
    tmp_path: Path,
) -> None:
    wrong, strange = tmp_path / "wrong", tmp_path / "strange"
    wrong.write_text(document({"match": "a.#.b"}))
    strange.write_text(
        '<address-settings><address-setting match="a">'
        "<max-size-bytes>1</max-size-bytes></address-setting></address-settings>"
    )

    with pytest.raises(CommandError, match="Nothing was imported"):
        run("import", str(wrong), "--apply")
    with pytest.raises(CommandError, match="cannot be read"):
        run("import", str(tmp_path / "missing"))
    _, warned = run("import", str(strange))

    assert "<max-size-bytes> 1 of a (line 1): All messages are on the disk" in warned


def test_every_field_has_a_place_in_a_document() -> None:
    columns = {one.name for one in AddressSetting._meta.concrete_fields}
    kept = columns - {"id", "match", "rules_arrivals"}
    ours = {"poison_policy", "discard_retention_s", "message_retention_s"}

    assert set(documents.KINDS) == set(DEFAULTS) == kept
    assert set(artemis_elements.ELEMENTS) == kept - ours


def test_a_null_defines_nothing_and_is_named() -> None:
    text = document({"match": "a", "no_expiry": None, "expiry_delay_ms": 5})

    found = documents.read(text)

    assert documents.defined(found.settings[0]) == {"expiry_delay_ms": 5}
    assert [(one.where, one.what) for one in found.left_out] == [
        ("setting 1", "no_expiry")
    ]


def test_each_value_of_a_document_is_kept_or_named_and_others_are_refused() -> None:
    """Whatever a setting says is in what was read, or in what was left out."""
    entry = {"match": "a", **DEFAULTS}

    found = documents.read(document(entry))

    kept = documents.defined(found.settings[0])
    named = {one.what for one in found.left_out}
    assert kept.keys() | named == DEFAULTS.keys()
    assert not kept.keys() & named
    with pytest.raises(WrongSettings, match="no such field"):
        documents.read(document(entry | {"new_field": None}))
