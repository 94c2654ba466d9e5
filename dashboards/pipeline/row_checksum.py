"""A checksum of rows that does not depend on their order."""

from __future__ import annotations

from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc

NULL, GOLDEN = 0x6A09E667F3BCC909, 0x9E3779B97F4A7C15
# the shifts and factors of SplitMix64
STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))


SIGN = 1 << 63


def checksum(rows: pa.Table) -> int:
    """A number for rows: the sum of one of 64 bits for each, so numbers of parts can be
    added up."""
    known = pa.repeat(pa.scalar(0, pa.uint64()), rows.num_rows)
    for values in rows.columns:
        known = mixed(pc.bit_wise_xor(known, digest(values)))
    return signed(sum(known.to_pylist()))


def signed(number: int) -> int:
    """A number as a signed one of 64 bits."""
    return (number + SIGN) % (2 * SIGN) - SIGN


def digest(values: pa.ChunkedArray) -> pa.Array:
    values = values.combine_chunks()
    if pa.types.is_string(values.type):
        texts = values.dictionary_encode()
        known = [
            int.from_bytes(blake2b(one.encode(), digest_size=8).digest())
            for one in texts.dictionary.to_pylist()
        ]
        numbers = pa.array(known, pa.uint64()).take(texts.indices)
    else:
        numbers = values.cast(pa.int64()).view(pa.uint64())
    return pc.fill_null(numbers, pa.scalar(NULL, pa.uint64()))


def mixed(numbers: pa.Array) -> pa.Array:
    numbers = pc.add(numbers, pa.scalar(GOLDEN, pa.uint64()))
    for shift, factor in STEPS:
        moved = pc.shift_right(numbers, pa.scalar(shift, pa.uint64()))
        numbers = pc.multiply(
            pc.bit_wise_xor(numbers, moved), pa.scalar(factor, pa.uint64())
        )
    return numbers
