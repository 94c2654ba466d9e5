"""Fields of messages for the archive: headers and properties, never the body.

A message is deleted some days after it was settled. The archive keeps the fields that
may distinguish failed messages from others for longer. Long texts are cut. Values that
any redaction rule masks on any queue are masked here, because the archive does not
follow a message from queue to queue.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from broker.security import redaction
from broker.security.redaction import Veil
from dashboards.reports.field_significance import CUT

VERSION = 1  # the version of the columns; sources.py has a reader for each version
# All fields but the first two are null if the message was already deleted.
FIELDS = """
    message_id bigint, at timestamp, priority smallint, durable boolean, subject string,
    content_type string, producer string, group_id string, reply_to string, size bigint,
    properties map<string, string>, numbers map<string, double>
"""
LONGEST = 100  # characters of a text, and of the name of a property
MOST = 64  # properties of one message
TEXTS = ("subject", "content_type", "producer", "group_id", "reply_to")
Pairs = list[tuple[str, Any]]
SCALARS = (str, bool)


class Figure(str):
    """A number in JSON, with its digits unchanged."""

    __slots__ = ()


READER = json.JSONDecoder(parse_int=Figure, parse_float=Figure)


def kept(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of ``puts_between.sql`` in the archive's format."""
    veil = Veil(redaction.sight_of(None).rules)
    for name in TEXTS:
        batch = batch.set_column(batch.column_names.index(name), name, cut(batch[name]))
    place = batch.column_names.index("properties")
    said, counted = Maps(pa.string()), Maps(pa.float64())
    for text in batch["properties"].to_pylist():
        pairs = None if text is None else scalars(text, veil)
        said.add(pairs)
        counted.add(pairs and numbers(pairs))
    batch = batch.set_column(place, "properties", said.array())
    return batch.append_column("numbers", counted.array())


class Maps:
    """A column of maps, made row by row."""

    def __init__(self, of: pa.DataType) -> None:
        self.of = of
        self.names: list[str] = []
        self.values: list[Any] = []
        self.starts: list[int | None] = []

    def add(self, pairs: Pairs | None) -> None:
        self.starts.append(None if pairs is None else len(self.names))
        for name, value in pairs or ():
            self.names.append(name)
            self.values.append(value)

    def array(self) -> pa.MapArray:
        starts = pa.array([*self.starts, len(self.names)], pa.int32())
        names = pa.array(self.names, pa.string())
        return pa.MapArray.from_arrays(starts, names, pa.array(self.values, self.of))


def cut(texts: pa.Array) -> pa.Array:
    """Texts, cut to ``LONGEST`` characters."""
    begun = pc.binary_join_element_wise(
        pc.utf8_slice_codeunits(texts, 0, LONGEST - 1), CUT, ""
    )
    return pc.if_else(pc.greater(pc.utf8_length(texts), LONGEST), begun, texts)


def short(value: Any) -> str:
    """A text, a number with very many digits, or a boolean as filters write it."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + CUT


def scalars(text: str, veil: Veil) -> Pairs:
    """The properties as texts, masked, without lists and objects."""
    if text == "{}":
        return []
    properties: Mapping[str, Any] = READER.decode(text)
    if veil:
        properties, _ = veil.properties(properties)
    few = [
        (name, value if is_figure(value) else short(value))
        for name, value in properties.items()
        if isinstance(value, SCALARS) and 0 < len(name) <= LONGEST
    ]
    return few[:MOST]


def is_figure(value: Any) -> bool:
    return isinstance(value, Figure) and len(value) <= LONGEST


def numbers(pairs: Pairs) -> list[tuple[str, float]]:
    """The properties that are numbers and fit a double."""
    found = [(name, float(one)) for name, one in pairs if isinstance(one, Figure)]
    return [(name, one) for name, one in found if isfinite(one)]
