"""The attributes of an object: their names, types, defaults, and how they are written.

An attribute has the name of the model's field. A time or a size may be a text with a
unit; the name of a time then needs no unit: ``redelivery_delay = "5 s"`` is
``redelivery_delay_ms = 5000``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import models

from broker.errors.settings import WrongSettings
from broker.formats import strict_json
from broker.formats.english import english
from broker.formats.quantities import (
    ENDINGS,
    ENDS_BEFORE,
    read_stored,
    write_stored,
)

TYPES: Mapping[type[models.Field], type] = {
    models.BooleanField: bool,
    models.FloatField: float,
    models.CharField: str,
    models.TextField: str,
    models.IntegerField: int,
    models.JSONField: dict,
    models.ForeignKey: str,  # the name of the other object
}
WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list of texts",
    dict: "a table of texts and numbers",
}
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # a NUL character in JSON
TRUTHS = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute of a kind of object."""

    name: str
    type: type  # bool, int, float, str, list (of str), or dict (of str and numbers)
    default: Any = None  # None: not set
    choices: tuple[str, ...] = ()
    help: str = ""
    # It can be set, but not read: answers only say whether it has a value.
    is_secret: bool = False
    # It is a part of a message: a text with any characters, or any JSON object, which
    # can also be given as a text of JSON.
    is_content: bool = False

    @property
    def suffix(self) -> str:
        """The unit at the end of its name: ``_ms``, ``_s``, ``_bytes``, or nothing."""
        is_count = self.type is int
        return next((s for s in ENDINGS if is_count and self.name.endswith(s)), "")

    @property
    def short(self) -> str:
        """The name without its unit of time."""
        return self.name.removesuffix(self.suffix if self.suffix != "_bytes" else "")


def of_field(model: type[models.Model], name: str) -> Attribute:
    """The attribute that represents a field of a model."""
    field = model._meta.get_field(name)
    assert isinstance(field, models.Field)
    choices = [value for value, _ in field.choices or ()]
    # An enumeration, which is shown by names.
    if choices and isinstance(choices[0], int):
        named = tuple(
            english(label).partition(":")[0] for _, label in field.choices or ()
        )
        usual = named[choices.index(field.default)]
        return Attribute(name, str, usual, named, english(field.help_text))
    kind = next(of for one, of in TYPES.items() if isinstance(field, one))
    default: Any = field.get_default()
    if choices and default not in choices:
        default = None  # the attribute is required
    return Attribute(name, kind, default, tuple(choices), english(field.help_text))


def named(attributes: Iterable[Attribute], name: str) -> Attribute | None:
    """The attribute of this name, with or without its unit, with ``_`` or ``-``."""
    wanted = name.replace("-", "_")
    return next((one for one in attributes if wanted in (one.name, one.short)), None)


def read_value(attribute: Attribute, value: Any, *, name: str, where: str) -> Any:
    """A value of a document, of the attribute's type.

    Args:
        attribute: the attribute.
        value: a truth value, number, text or list; None is not set.
        name: the name that was written: without the unit, a number needs one.
        where: the place in the document, for errors.

    Raises:
        WrongSettings: the value is of another type, or not one of the choices.
    """
    if value is None:
        return attribute.default
    suffix, kind = attribute.suffix, attribute.type
    if suffix and isinstance(value, str):
        try:
            return read_stored(value, suffix)
        except ValueError as error:
            raise WrongSettings(where, str(error)) from None
    is_short = name.replace("-", "_") != attribute.name
    if is_short and value not in (0, -1):
        raise WrongSettings(
            where,
            f'Give a unit, as “{attribute.short} = "5 {suffix[1:]}"”, or name it'
            f" {attribute.name}.",
        )
    if kind is float and type(value) is int:
        value = float(value)
    if attribute.is_content and kind is dict and isinstance(value, str):
        value = read_json(value, where)
    if type(value) is not kind:
        raise WrongSettings(where, f"It must be {WORDS[kind]}, not {value!r}.")
    return checked(attribute, value, where)


def checked(attribute: Attribute, value: Any, where: str) -> Any:
    """A value of the right type, if it is one of the choices and can be stored."""
    if attribute.is_content:
        refuse_unstorable(value, where)
        return value
    texts = value if isinstance(value, list) else [value]
    for part in value.values() if isinstance(value, dict) else ():
        if not isinstance(part, str | int | float):
            raise WrongSettings(where, f"It must be {WORDS[dict]}.")
    for text in texts if attribute.type in (str, list) else ():
        if not isinstance(text, str):
            raise WrongSettings(where, f"It must be {WORDS[attribute.type]}.")
        if attribute.choices and text not in attribute.choices:
            words = ", ".join(attribute.choices)
            raise WrongSettings(where, f"It must be one of {words}, not {text!r}.")
        if not text.replace("\n", "").isprintable():
            raise WrongSettings(where, "It has characters that cannot be seen.")
    return sorted(set(value)) if isinstance(value, list) else value


def read_json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise WrongSettings(where, f"This is no JSON: {text[:40]!r}.") from None


def refuse_unstorable(value: Any, where: str) -> None:
    """
    Raises:
        WrongSettings: it is no JSON, or has characters that PostgreSQL cannot store.
    """
    try:
        text = strict_json.dumps(value, ascii_only=False)
    except ValueError as error:
        raise WrongSettings(where, f"This is no JSON: {error}.") from None
    if NUL.search(text):
        why = "It has the character NUL, which cannot be stored."
        raise WrongSettings(where, why)


def from_text(attribute: Attribute, text: str, *, name: str, where: str) -> Any:
    """A value that was typed as text, as on a command line.

    Raises:
        WrongSettings: the text is no value of the attribute.
    """
    value: Any = text
    try:
        if attribute.type is bool:
            value = TRUTHS[text.lower()]
        elif attribute.type in (int, float) and text[-1:].isdigit():
            value = attribute.type(text)
        elif attribute.type is list:
            value = [one.strip() for one in text.split(",") if one.strip()]
    except (ValueError, KeyError):
        why = f"It must be {WORDS[attribute.type]}, not {text[:40]!r}."
        raise WrongSettings(where, why) from None
    return read_value(attribute, value, name=name, where=where)


def write_attribute(attribute: Attribute, value: Any) -> tuple[str, Any]:
    """The name and value as people write them: with a unit, where there is one."""
    if attribute.suffix and isinstance(value, int) and 0 < value < ENDS_BEFORE:
        return attribute.short, write_stored(value, attribute.suffix)
    if isinstance(value, dict) and has_null(value):  # TOML has no null
        return attribute.name, json.dumps(value, ensure_ascii=False)
    return attribute.name, value


def has_null(value: Any) -> bool:
    parts = value.values() if isinstance(value, dict) else value
    inside = isinstance(value, dict | list) and any(map(has_null, parts))
    return value is None or inside
