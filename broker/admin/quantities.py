"""Form fields for times and sizes with their units: ``5 s``, ``1 h 30 min``, ``2 MB``.

A number alone is in the unit that is stored, which the help of each field names.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.text import capfirst, format_lazy
from django.utils.translation import gettext, gettext_lazy

from broker.formats.english import english
from broker.formats.quantities import ENDINGS, read_stored, write_stored

ALONE = re.compile(r"-?\d{1,18}(\.\d{1,9})?", re.ASCII)
STORED_UNIT = re.compile(r",? in (milliseconds|seconds|bytes)\b")
# How a quantity is written, by the ending of the field's name.
NAMES = {
    "_ms": gettext_lazy("As {examples}; a number alone is milliseconds."),
    "_s": gettext_lazy("As {examples}; a number alone is seconds."),
    "_bytes": gettext_lazy("As {examples}; a number alone is bytes."),
}


class QuantityField(forms.CharField):
    """A quantity with its unit; its value is a number of the stored unit, or None.

    Args:
        ending: of the stored field's name, for its unit: ``_ms``, ``_s`` or ``_bytes``.
        fractions: whether the stored number may have decimal places.
    """

    examples: ClassVar[Promise]

    def __init__(
        self,
        *,
        ending: str,
        fractions: bool = False,
        min_value: int | None = None,  # not used: the model's validators check it
        max_value: int | None = None,
        **options: Any,
    ) -> None:
        self.fractions = fractions
        self.ending = ending
        told = format_lazy(NAMES[ending], examples=self.examples)
        said = options.get("help_text")
        options["help_text"] = format_lazy("{} {}", said, told) if said else told
        attrs = {"autocomplete": "off", "spellcheck": "false", "size": 12}
        options.setdefault("widget", forms.TextInput(attrs=attrs))
        super().__init__(empty_value=None, **options)

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        if text is None:
            return None
        if ALONE.fullmatch(text) and (self.fractions or "." not in text):
            return float(text) if self.fractions else int(text)
        try:
            if self.fractions:
                return read_stored(text, "_ms") / 1000
            return read_stored(text, self.ending)
        except ValueError as error:
            raise ValidationError(str(error)) from None

    def prepare_value(self, value: Any) -> Any:
        if not isinstance(value, int | float) or value <= 0:
            return value
        if self.fractions and not round(value * 1000):
            return value
        return write_stored(value, self.ending)


class DurationField(QuantityField):
    """A time."""

    examples = gettext_lazy("5 s, 10 min, 1 h 30 min or 7 d")


class SizeField(QuantityField):
    """A size of data."""

    examples = gettext_lazy("64 KiB or 2 MB")


def ending_of(name: str) -> str:
    """The ending of a field's name that is a unit; empty: it is no quantity."""
    return next((one for one in ENDINGS if name.endswith(one)), "")


def write_quantity(name: str, value: Any) -> str:
    """The text of a stored quantity on a page; empty if there is none."""
    ending = ending_of(name)
    return "" if value is None or not ending else write_stored(value, ending)


def name_of(field: models.Field) -> str:
    """The name of a stored field in English words, without its unit."""
    ending = ending_of(field.name)
    plain = english(field.verbose_name).removesuffix(ending.replace("_", " "))
    return plain + (" size" if ending == "_bytes" else "")


def title_of(field: models.Field) -> str:
    """The label of a stored field, without its unit."""
    return capfirst(gettext(name_of(field)))


def help_of(field: models.Field) -> str:
    """The English help of a stored field, without its unit."""
    told = STORED_UNIT.sub("", english(field.help_text))
    return re.sub("^Seconds", "The time", told)


def field_for(stored: models.Field) -> forms.Field | None:
    """The form field of a stored time or size; None for any other field."""
    ending = ending_of(stored.name)
    if not ending:
        return None
    told = help_of(stored)
    return stored.formfield(
        form_class=SizeField if ending == "_bytes" else DurationField,
        ending=ending,
        fractions=isinstance(stored, models.FloatField),
        label=title_of(stored),
        help_text=gettext_lazy(told) if told else "",
    )


class QuantitiesAdmin(admin.ModelAdmin):
    """Times and sizes are written with their units."""

    def formfield_for_dbfield(
        self, db_field: models.Field, request: HttpRequest, **kwargs: Any
    ) -> Any:
        return field_for(db_field) or super().formfield_for_dbfield(
            db_field, request, **kwargs
        )
