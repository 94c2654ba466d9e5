"""Composite types as Hypothesis draws them: any fields, as their kinds allow."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import strategies as st

from broker.amqp.protocol.performatives import DeleteOnClose
from broker.amqp.protocol.types.composites import BY_CLASS
from broker.amqp.protocol.types.field_types import KINDS
from broker.amqp.protocol.types.types import Symbol
from tests.amqp.drawn import scalars, symbols, texts

uints = st.integers(0, 300) | st.integers(0, 2**32 - 1)
fields = st.dictionaries(symbols, scalars.filter(lambda one: one == one), max_size=3)
many = st.lists(symbols, max_size=3).map(tuple)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "any": st.none() | st.text(max_size=3),
    "binary": st.binary(max_size=8),
    "boolean": st.booleans(),
    "fields": fields,
    "map": st.dictionaries(st.binary(max_size=4), st.none(), max_size=3),
    "message-id": st.integers(0, 2**64 - 1)
    | texts
    | st.binary(max_size=8)
    | st.uuids(),
    "nodes": fields | st.just({Symbol("lifetime-policy"): DeleteOnClose()}),
    "string": texts,
    "symbol": symbols,
    "symbols": many,
    "tag": st.binary(max_size=32),
    "timestamp": st.integers(-(2**63), 2**63 - 1),
    "ubyte": st.integers(0, 255),
    "uint": uints,
    "ulong": st.integers(0, 2**64 - 1),
    "ushort": st.integers(0, 2**16 - 1),
}
COMPOSITES = {
    "error": "Error",
    "source": "Source",
    "terminus": "Target Coordinator",
    "outcome": "Accepted Rejected Released Modified",
    "state": "Received Accepted Rejected Released Modified Declared TransactionalState",
}
BY_NAME = {cls.__name__: cls for cls in BY_CLASS}
KIND_NAMES = {kind: name for name, kind in KINDS.items()}


def of_kind(name: str) -> st.SearchStrategy[Any]:
    if name in FIELDS:
        return FIELDS[name]
    return st.one_of(*[of(BY_NAME[cls]) for cls in COMPOSITES[name].split()])


def of(cls: type) -> st.SearchStrategy[Any]:
    """A composite type with any of its fields."""
    made: dict[str, st.SearchStrategy[Any]] = {}
    for field in BY_CLASS[cls].fields:
        values = of_kind(KIND_NAMES[field.kind])
        if field.default is not dataclasses.MISSING:
            values = st.just(field.default) | values
        made[field.name] = values
    return st.builds(cls, **made)
