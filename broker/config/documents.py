"""Address settings as a JSON document.

Only defined fields are written; an empty text is a definition and means none. A
document is accepted or refused as a whole; a refusal names the place and the remedy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from django.core.exceptions import ValidationError
from django.db.models import BooleanField, CharField, FloatField

from broker.config.address_settings import DEFAULTS
from broker.errors.settings import WrongSettings
from broker.formats.quantities import write_size
from broker.models import AddressSetting

NULL = "It defines nothing. A merge leaves what is stored; to unset it, replace."
FORMAT, VERSION = "backout-address-settings", 1
LARGEST_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something in a document that is not kept, or not as it was written."""

    where: str  # place in the document, as "line 12"
    match: str
    what: str  # name of the element
    why: str  # the reason and what to do, as a sentence
    said: str = ""  # content of the element

    def __str__(self) -> str:
        whose = f" of {self.match}" if self.match else ""
        said = f" {self.said}" if self.said else ""
        return f"<{self.what}>{said}{whose} ({self.where}): {self.why}"


@dataclass(frozen=True, slots=True)
class Document:
    """The result of reading; the settings are not stored."""

    settings: Sequence[AddressSetting]
    left_out: Sequence[LeftOut] = field(default_factory=list)


def kind_of(name: str) -> type:
    """The type of a field's values: bool, float, str or int."""
    kinds = {BooleanField: bool, FloatField: float, CharField: str}
    column = AddressSetting._meta.get_field(name)
    return next((of for one, of in kinds.items() if isinstance(column, one)), int)


KINDS: dict[str, type] = {name: kind_of(name) for name in DEFAULTS}
MAY_BE_EMPTY = {name for name, kind in KINDS.items() if kind is str} - {"poison_policy"}


def defined(setting: AddressSetting) -> dict[str, Any]:
    """The defined fields of a setting, in the order of ``DEFAULTS``."""
    values = {name: getattr(setting, name) for name in DEFAULTS}
    return {name: value for name, value in values.items() if value is not None}


def write(settings: Iterable[AddressSetting]) -> str:
    """The settings as JSON, ordered by pattern."""
    ordered = sorted(settings, key=lambda one: one.match)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "settings": [{"match": one.match, **defined(one)} for one in ordered],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def read(text: str | bytes) -> Document:
    """Read a document in the format of ``write``.

    Raises:
        WrongSettings: the document has another format, or a value is out of its range.
    """
    document = parsed(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise WrongSettings(
            "", f'This is no document of address settings: "format" must be "{FORMAT}".'
        )
    if document.get("version") != VERSION:
        raise WrongSettings(
            "version", f"Only version {VERSION} can be read. Export it again from here."
        )
    entries = document.get("settings")
    if not isinstance(entries, list) or document.keys() - {
        "format",
        "version",
        "settings",
    }:
        raise WrongSettings(
            "", 'There must be a list "settings" beside "format" and "version" only.'
        )
    found: dict[str, AddressSetting] = {}
    left_out = []
    for number, entry in enumerate(entries, 1):
        where = f"setting {number}"
        setting = read_one(entry, where)
        if setting.match in found:
            raise twice(where, setting.match)
        found[setting.match] = setting
        nulls = (name for name, value in entry.items() if value is None)
        left_out += [LeftOut(where, setting.match, name, NULL) for name in nulls]
    return Document(list(found.values()), left_out)


def parsed(text: str | bytes) -> Any:
    """Parse JSON in which no name is given twice in an object.

    Raises:
        WrongSettings: the text is not such JSON.
    """
    if len(text) > LARGEST_BYTES:
        raise WrongSettings("", f"It is above {write_size(LARGEST_BYTES)}. Split it.")
    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=no_number)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise WrongSettings(where, f"This is no JSON: {error.msg}.") from None
    except (ValueError, RecursionError):
        raise WrongSettings("", "This is no JSON in UTF-8 that can be read.") from None


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(one for one in names if names.count(one) > 1)
        raise WrongSettings(f'"{name}"', "It is given twice. Leave one of them out.")
    return made


def no_number(word: str) -> NoReturn:
    raise WrongSettings("", f"{word} is no number that a setting can have.")


def read_one(entry: Any, where: str) -> AddressSetting:
    """One setting of a JSON document.

    Raises:
        WrongSettings: a name or a value is invalid.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("match"), str):
        raise WrongSettings(where, 'It must be an object with a text "match".')
    match = entry["match"]
    values: dict[str, Any] = {}
    for name, value in entry.items():
        here = f'{where} ("{match}"), {name}'
        if name == "match":
            continue
        if name not in KINDS:
            raise WrongSettings(here, "There is no such field. Leave it out.")
        if value is None:
            continue
        kind = KINDS[name]
        is_whole = type(value) is int and kind is float and abs(value) < 2**53
        if type(value) is not kind and not is_whole:
            words = {bool: "true or false", int: "a whole number", str: "a text"}
            raise WrongSettings(here, f"It must be {words.get(kind, 'a number')}.")
        values[name] = kind(value)
    return made(match, values, {name: f'{where} ("{match}"), {name}' for name in entry})


def made(match: str, values: dict[str, Any], where: dict[str, str]) -> AddressSetting:
    """A validated setting, not stored.

    Args:
        match: the pattern.
        values: the value of each field.
        where: the place of each field, and of ``match``, in the document.

    Raises:
        WrongSettings: a value is out of its range, or cannot be stored.
    """
    if fault := fault_of(match, values):
        name, why = fault
        raise WrongSettings(where[name], why)
    return AddressSetting(match=match, **values)


def fault_of(match: str, values: dict[str, Any]) -> tuple[str, str] | None:
    """The first field that cannot be stored, or ``match``, with the reason."""
    for name, value in {"match": match, **values}.items():
        if isinstance(value, str) and not value.isprintable():
            return name, "It has characters that cannot be seen."
        if value == "" and name not in MAY_BE_EMPTY:
            return name, "It cannot be empty. Give a value."
    setting = AddressSetting(match=match, **values)
    try:
        setting.clean_fields()
        setting.clean()
    except ValidationError as error:
        name, (first, *_) = next(iter(error.message_dict.items()))
        return name, first
    return None


def twice(where: str, match: str) -> WrongSettings:
    return WrongSettings(
        where, f'There is a setting for "{match}" already. Put the two together.'
    )
