"""Exact durations and labelled cells for pages of settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django import template
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Field, Model
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from broker.formats.quantities import write_duration
from broker.settlement.redelivery_schedule import Span
from console.configuration import effective_settings

register = template.Library()
register.filter("ordinal", effective_settings.ordinal)


@register.filter
def exact(span: timedelta) -> str:
    return write_duration(span, exact=True)


@register.filter
def range(span: Span) -> str:  # noqa: A001  the word that templates use
    """From the shortest to the longest; empty if they are equal."""
    if not span.is_spread:
        return ""
    shortest, longest = map(exact, (span.shortest, span.longest))
    words = gettext("%(shortest)s to %(longest)s")
    return words % {"shortest": shortest, "longest": longest}


@register.filter
def of(found: Mapping[str, Any] | None, name: str) -> Any:
    """The value of a name; nothing if there is none."""
    return found.get(name) if found else None


@register.simple_tag
def labelled(
    item: SafeString, headers: Sequence[Mapping[str, Any]], index: int
) -> SafeString:
    """A cell of an admin's list, with the label that it has on a card.

    Args:
        item: the cell, as the admin makes it.
        headers: the heads of all columns.
        index: of the column.
    """
    head = str(headers[index]["text"]) if index < len(headers) else ""
    if not item.startswith("<td") or "<" in head:  # the name, or the box to tick
        return item
    label = f'<td data-label="{escape(head)}"'
    return mark_safe(label + item.removeprefix("<td"))  # noqa: S308  # both are escaped


@register.filter
def is_foldable(fieldset: Any) -> bool:
    return bool(fieldset.name) and "collapse" in fieldset.classes


@register.filter
def is_open(fieldset: Any) -> bool:
    """Whether a field of a fieldset has an error, or another value than its default."""
    form = fieldset.form
    names = flatten_fieldsets([(None, {"fields": fieldset.fields})])
    noted = {*form.errors, *(form.changed_data if form.is_bound else ())}
    return any(name in noted or is_set(form.instance, name) for name in names)


def is_set(row: Model, name: str) -> bool:
    """Whether a stored field has another value than its default."""
    try:
        field = row._meta.get_field(name)
    except FieldDoesNotExist:
        return False
    return isinstance(field, Field) and (
        field.value_from_object(row) != field.get_default()
    )
