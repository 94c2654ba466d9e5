"""Fieldsets of forms: what matters first is open, the rest is folded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = str | tuple[str, ...]  # a field, or the fields of one row


def folded(title: str, fields: Sequence[Row], description: str = "") -> tuple[str, Any]:
    """A fieldset that is closed until it is opened; the console opens one in which a
    field has an error or another value than its default."""
    return title, {
        "classes": ["collapse"],
        "description": description,
        "fields": list(fields),
    }
