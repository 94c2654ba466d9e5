"""What became of a thing that somebody set: its fields before and after."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from django.db.models import Model

SECRET = re.compile(r"password|secret|token|scram|private|salt", re.I)
HIDDEN = "not shown"
LONGEST = 2000  # characters of a value
MOST = 200  # of what a field refers to

State = dict[str, Any]  # by field; what can be written as JSON


def state_of(thing: Model) -> State:
    """What the database has of a thing now; of what is secret, only a mark that tells
    one value from another within this process."""
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
    """What differs, by field: ``before`` and ``after``, or the one of them there is."""
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
    """A value as JSON has it, with whole numbers only: others are texts."""
    if SECRET.search(name):
        return str(hash(repr(value)))
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value)


def said(name: str, value: Any) -> Any:
    """A value as the record has it: neither secret nor longer than people read."""
    if SECRET.search(name):
        return HIDDEN
    is_long = isinstance(value, str) and len(value) > LONGEST
    return f"{value[:LONGEST]}…" if is_long else value
