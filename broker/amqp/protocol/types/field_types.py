"""Types of the fields of composite types: decoding and encoding.

Decoding is lenient where that is harmless: an integer may have another width, a text be
a symbol, and one symbol stand for an array. Encoding follows the standard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import (
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)


@dataclass(slots=True, frozen=True)
class FieldCodec:
    """Converts a field. Both functions raise ValueError for an invalid value; neither
    is called with None."""

    read: Callable[[Any], Any]  # converts a decoded value
    write: Callable[[Any], bytes]


# Codecs of the types of fields, by name; composite types add their codecs.
KINDS: dict[str, FieldCodec] = {}


def instance(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not isinstance(value, kind):
            raise ValueError(f"a {type(value).__name__}, not a {kind.__name__}.")
        return value

    return check


def plain(kind: type[Any], *, at_most: int | None = None) -> FieldCodec:
    """A field of exactly this Python type, not of a subclass."""

    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"a {type(value).__name__}, not a {kind.__name__}.")
        if at_most is not None and len(value) > at_most:
            raise ValueError(f"{len(value)} bytes are more than {at_most}.")
        return value

    return FieldCodec(check, lambda value: encode(check(value)))


def number(kind: type[int], below: int, *, at_least: int = 0) -> FieldCodec:
    """A field with an integer, which is a plain int in Python."""

    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"a {type(value).__name__}, not a number.")
        if not at_least <= value < below:
            raise ValueError(f"{value} is out of its bounds.")
        return int(value)

    return FieldCodec(read, lambda value: encode(kind(read(value))))


def read_string(value: Any) -> str:
    return str(instance(str)(value))


def read_symbol(value: Any) -> Symbol:
    return Symbol(instance(str)(value))


def write_symbol(value: Any) -> bytes:
    return encode(read_symbol(value))


def read_symbols(value: Any) -> tuple[Symbol, ...]:
    """Symbols: an array; or a single symbol, as the standard allows; or a list, as some
    peers send."""
    values = value if isinstance(value, list | tuple) else [value]
    return tuple(read_symbol(symbol) for symbol in values)


def write_symbols(value: Any) -> bytes:
    return encode(read_symbols(value))


def write_fields(value: Any) -> bytes:
    """Encode a map; keys that are texts become symbols."""
    return encode(symbolic(instance(dict)(value)))


def symbolic(fields: dict[Any, Any]) -> dict[Any, Any]:
    return {
        Symbol(key) if isinstance(key, str) else key: value
        for key, value in fields.items()
    }


def read_message_id(value: Any) -> int | str | bytes | UUID:
    """A message id; a ulong becomes a plain int."""
    if isinstance(value, ULong):
        return int(value)
    if isinstance(value, Symbol) or not isinstance(value, str | bytes | UUID):
        raise ValueError(f"a {type(value).__name__}.")
    return value


def write_message_id(value: Any) -> bytes:
    return encode(ULong(value) if isinstance(value, int) else read_message_id(value))


KINDS |= {
    "any": FieldCodec(lambda value: value, encode),
    "binary": plain(bytes),
    "boolean": plain(bool),
    "fields": FieldCodec(instance(dict), write_fields),
    "map": plain(dict),
    "message-id": FieldCodec(read_message_id, write_message_id),
    "string": FieldCodec(read_string, lambda value: encode(read_string(value))),
    "symbol": FieldCodec(read_symbol, write_symbol),
    "symbols": FieldCodec(read_symbols, write_symbols),
    "tag": plain(bytes, at_most=32),
    "timestamp": number(Timestamp, 2**63, at_least=-(2**63)),
    "ubyte": number(UByte, 2**8),
    "uint": number(UInt, 2**32),
    "ulong": number(ULong, 2**64),
    "ushort": number(UShort, 2**16),
}
