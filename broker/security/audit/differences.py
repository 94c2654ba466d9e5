"""Changes of an object for the audit: its fields before and after."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from django.db.models import Model

SECRET = re.compile(r"password|secret|token|scram|private|salt", re.I)
HIDDEN = "not shown"
LONGEST = 2000  # most characters of a value
MOST = 200  # most related objects that are read of a field

State = dict[str, Any]  # JSON values by field


def state_of(thing: Model) -> State:
    """The stored fields of an object. A secret is replaced by a hash that is valid only
    in this process; it shows whether the secret changed."""
    stored = type(thing)._base_manager.filter(pk=thing.pk).first()
    if stored is None:
        return {}
    state = {
        field.name: json_value(field.name, field.value_from_object(stored))
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
            word: recorded_value(name, state[name])
            for word, state in (("before", before), ("after", after))
            if name in state
        }
        for name in {**before, **after}
        if name not in before or name not in after or before[name] != after[name]
    }


def json_value(name: str, value: Any) -> Any:
    """A value that JSON can hold: whole numbers stay, other values become text."""
    if SECRET.search(name):
        return str(hash(repr(value)))
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value)


def recorded_value(name: str, value: Any) -> Any:
    """A value for the audit record: secrets are hidden, long texts cut."""
    if SECRET.search(name):
        return HIDDEN
    is_long = isinstance(value, str) and len(value) > LONGEST
    return f"{value[:LONGEST]}…" if is_long else value
