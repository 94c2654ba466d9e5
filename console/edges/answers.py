"""Answers of acts and queries as JSON: the same facts, written alike, at each door."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import TypeAdapter

from broker.acts import DeclaredAct
from console.edges.queries import DeclaredQuery


def as_json(one: DeclaredAct | DeclaredQuery, answer: Any) -> Any:
    """An answer as JSON has it: times are of UTC, in ISO 8601."""
    return adapter_of(one.answer).dump_python(answer, mode="json")


@cache
def adapter_of(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
