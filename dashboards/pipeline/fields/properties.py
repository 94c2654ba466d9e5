"""Properties of messages as columns of maps: texts, and the numbers among them.

PostgreSQL writes jsonb in one way: ``{"name": value, "name": value}``. So an object
without backslashes, lists and inner objects is read by splitting it at its quotes, for
all messages of a batch at once. Redaction rules see each name and each text of a batch
once. The few other objects are read one by one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from broker.security.redaction import Veil
from dashboards.reports.field_significance import CUT

LONGEST = 100  # characters of a text, and of the name of a property
MOST = 64  # properties of one message
SCALARS = (str, bool)
NESTED = r"[\\\[]|.\{"  # matches JSON with lists, objects or escapes, which is parsed
Read = list[tuple[str, Any]]


class Figure(str):
    """A number in JSON, with its digits unchanged."""

    __slots__ = ()


READER = json.JSONDecoder(parse_int=Figure, parse_float=Figure)


class Pairs(NamedTuple):
    """Properties of a batch: arrays of one length, ordered by row."""

    row: pa.Int64Array  # the place of the message in the batch
    name: pa.StringArray
    value: pa.StringArray
    number: pa.DoubleArray  # null if the value is not a number

    def where(self, wanted: pa.BooleanArray) -> Pairs:
        return Pairs(*(one.filter(wanted) for one in self))


def columns(texts: pa.StringArray, veil: Veil) -> tuple[pa.MapArray, pa.MapArray]:
    """The texts and the numbers of each message, masked; null where the text is null.

    Args:
        texts: JSON objects, as PostgreSQL writes jsonb.
        veil: the rules that mask values.
    """
    is_single = pc.match_substring_regex(texts, NESTED)
    single = pc.indices_nonzero(is_single)
    pairs = split(pc.if_else(is_single, None, texts), veil)
    if len(single):
        pairs = together(pairs, read(texts, single, veil))
    figures = pairs.where(pc.is_valid(pairs.number))
    return (
        maps(texts, pairs.row, pairs.name, pairs.value),
        maps(texts, figures.row, figures.name, figures.number),
    )


def maps(texts: pa.Array, row: pa.Array, names: pa.Array, values: pa.Array) -> pa.Array:
    """A map for each text, of the pairs of its row; null where the text is null."""
    every = pa.concat_arrays([pa.arange(0, len(texts)), row])
    # the number of pairs of each row
    many = pc.subtract(every.value_counts().field("counts"), 1)
    ends = pc.cumulative_sum(many)
    starts = pa.concat_arrays([pa.array([0], pa.int64()), ends]).cast(pa.int32())
    is_known = pa.concat_arrays([pc.is_valid(texts), pa.array([True])])
    return pa.MapArray.from_arrays(pc.if_else(is_known, starts, None), names, values)


def split(texts: pa.StringArray, veil: Veil) -> Pairs:
    """The properties of objects that have only texts, numbers, booleans and nulls.

    Split at its quotes, such an object is in turn something outside and something
    between quotes. What is outside behind a name begins with a colon; it is only that
    if the value is a text, which is then the next piece.
    """
    parted = pc.split_pattern(texts, '"')
    pieces, row = parted.flatten(), pc.list_parent_indices(parted)
    if not len(pieces):
        return Pairs(row, pieces, pieces, pieces.cast(pa.float64()))
    place = pc.subtract(pa.arange(0, len(pieces)), parted.offsets.take(row))
    is_quoted = pc.equal(pc.bit_wise_and(place, 1), 1).slice(0, len(pieces) - 1)
    is_before_colon = pc.starts_with(pieces, ":").slice(1)
    names = pc.indices_nonzero(pc.and_(is_quoted, is_before_colon)).cast(pa.int64())
    outside = pieces.take(pc.add(names, 1))
    is_text = pc.equal(outside, ": ")
    following = pieces.take(pc.min_element_wise(pc.add(names, 2), len(pieces) - 1))
    bare = pc.utf8_trim(outside, ": ,}")
    value = pc.if_else(is_text, following, bare)
    is_number = pc.and_not(pc.match_substring_regex(bare, "^-?[0-9]"), is_text)
    is_there = pc.or_(is_text, pc.not_equal(bare, "null"))
    name = pieces.take(names)
    if veil:
        mark = changed(name, lambda one: veil.properties({one: None})[0][one])
        is_seen = pc.and_(pc.or_(is_text, is_number), pc.is_null(mark))
        clear = pc.if_else(is_seen, value, None)
        after = pc.coalesce(mark, changed(clear, veil.text), value)
        is_number = pc.and_(is_number, pc.equal(after, value))
        is_there, value = pc.or_(is_there, pc.is_valid(mark)), after
    is_short = pc.less_equal(pc.utf8_length(value), LONGEST)
    number = pc.if_else(pc.and_(is_number, is_short), value, None).cast(pa.float64())
    found = Pairs(row.take(names), name, cut(value), number)
    length = pc.utf8_length(name)
    is_named = pc.and_(pc.greater(length, 0), pc.less_equal(length, LONGEST))
    return first_ones(found.where(pc.and_(is_named, is_there)))


def changed(texts: pa.StringArray, change: Callable[[str], Any]) -> pa.StringArray:
    """Each text as it is after a change, which is made once for equal texts."""
    known = texts.dictionary_encode()
    after = [change(one) for one in known.dictionary.to_pylist()]
    return pa.array(after, pa.string()).take(known.indices)


def first_ones(pairs: Pairs) -> Pairs:
    """At most ``MOST`` properties of each message."""
    more = len(pairs.row) - MOST
    if more <= 0:
        return pairs
    is_first = pc.not_equal(pairs.row.slice(MOST), pairs.row.slice(0, more))
    return pairs.where(pa.concat_arrays([pa.array([True] * MOST), is_first]))


def together(one: Pairs, other: Pairs) -> Pairs:
    both = [pa.concat_arrays(pair) for pair in zip(one, other, strict=True)]
    order = pc.sort_indices(both[0])
    return Pairs(*(array.take(order) for array in both))


def read(texts: pa.StringArray, rows: pa.Array, veil: Veil) -> Pairs:
    """The properties of some rows, read one by one."""
    pairs = [
        (row, *pair)
        for row, text in zip(
            rows.to_pylist(), texts.take(rows).to_pylist(), strict=True
        )
        for pair in scalars(text, veil)
    ]
    return Pairs(
        pa.array([row for row, _, _ in pairs], pa.int64()),
        pa.array([name for _, name, _ in pairs], pa.string()),
        pa.array([value for _, _, value in pairs], pa.string()),
        pa.array([number(value) for _, _, value in pairs], pa.float64()),
    )


def cut(texts: pa.Array) -> pa.Array:
    """Texts, cut to ``LONGEST`` characters."""
    is_long = pc.greater(pc.utf8_length(texts), LONGEST)
    if not pc.any(is_long).as_py():
        return texts
    begun = pc.binary_join_element_wise(
        pc.utf8_slice_codeunits(texts, 0, LONGEST - 1), CUT, ""
    )
    return pc.if_else(is_long, begun, texts)


def short(value: Any) -> str:
    """A text, a number with very many digits, or a boolean as filters write it."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + CUT


def scalars(text: str, veil: Veil) -> Read:
    """The properties as texts, masked, without lists and objects."""
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


def number(value: str) -> float | None:
    """The value of a number that fits a double."""
    found = float(value) if isinstance(value, Figure) else None
    return found if found is not None and isfinite(found) else None
