"""Fieldsets of forms: what matters first is open, the rest is folded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

Row = str | tuple[str, ...]  # a field, or the fields of one row


def folded(
    title: str | _StrPromise,
    fields: Sequence[Row],
    description: str | _StrPromise = "",
) -> tuple[str | _StrPromise, Any]:
    """A fieldset that is closed until it is opened; the console opens one in which a
    field has an error or another value than its default."""
    return title, {
        "classes": ["collapse"],
        "description": description,
        "fields": list(fields),
    }
