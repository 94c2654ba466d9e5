"""Changes of an object for the audit: its fields before and after."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from django.db.models import Model

SECRET = re.compile(r"password|secret|token|scram|private|salt", re.I)
HIDDEN = "not shown"
LONGEST = 2000  # characters of a value
MOST = 200  # related objects of a field

State = dict[str, Any]  # by field; what can be written as JSON


def state_of(thing: Model) -> State:
    """The stored fields of an object. A secret is replaced by a hash that is only valid
    in this process, to detect changes."""
    stored = type(thing)._base_manager.filter(pk=thing.pk).first()
    if stored is None:
        return {}
    state = {
        field.name: told(field.name, field.value_from_object(stored))
        for field in stored._meta.concrete_fields
    }
    for field in stored._meta.many_to_many:
        others = getattr(stored, field.name).all()[:MOST]
        state[field.name] = sorted(str(one) for one in others)
    return state


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The changed fields, each with ``before``, ``after`` or both."""
    return {
        name: {
            word: said(name, state[name])
            for word, state in (("before", before), ("after", after))
            if name in state
        }
        for name in {**before, **after}
        if name not in before or name not in after or before[name] != after[name]
    }


def told(name: str, value: Any) -> Any:
    """A value for JSON: whole numbers stay, others become text."""
    if SECRET.search(name):
        return str(hash(repr(value)))
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value)


def said(name: str, value: Any) -> Any:
    """A value for the record: secrets hidden, long texts cut."""
    if SECRET.search(name):
        return HIDDEN
    is_long = isinstance(value, str) and len(value) > LONGEST
    return f"{value[:LONGEST]}…" if is_long else value
