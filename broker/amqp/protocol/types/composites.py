"""Composite types: described lists, as dataclasses.

The decorator ``composite`` declares one, with the wire type of each field. Decoding
fills in the standard's defaults; a field without a default is mandatory. Encoding
leaves out values that equal the default.

Source: AMQP 1.0, part 1, section 1.4.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, dataclass_transform

from broker.amqp.protocol.conditions import DECODE_ERROR, AmqpError
from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.encoding import ENCODERS, NULL, encode, of_written
from broker.amqp.protocol.types.field_types import KINDS, FieldCodec
from broker.amqp.protocol.types.types import Described, Symbol, ULong

T = TypeVar("T")


@dataclasses.dataclass(slots=True, frozen=True)
class Field:
    """A field of a composite type; ``default`` is MISSING if it is mandatory."""

    name: str
    kind: FieldCodec
    default: Any


@dataclasses.dataclass(slots=True, frozen=True)
class Layout:
    """The wire format of a composite type."""

    cls: type
    name: str
    head: bytes  # the encoded descriptor
    fields: tuple[Field, ...]


BY_DESCRIPTOR: dict[int | str, Layout] = {}
BY_CLASS: dict[type, Layout] = {}


@dataclass_transform()
def composite(
    code: int,
    name: str,
    kinds: str = "",
    *,
    kw_only: bool = False,
    frozen: bool = False,
) -> Callable[[type[T]], type[T]]:
    """Make a class a dataclass and a composite type.

    Args:
        code: the numeric descriptor, as 0x10.
        name: the symbolic descriptor, without ``amqp:`` and ``:list``.
        kinds: the kinds of the fields, in order, by their names in ``KINDS``.
        kw_only: passed to ``dataclass``.
        frozen: passed to ``dataclass``.
    """

    def make(cls: type[T]) -> type[T]:
        made = dataclasses.dataclass(slots=True, kw_only=kw_only, frozen=frozen)(cls)
        register(made, code, name, kinds)
        return made

    return make


def register(cls: Any, code: int, name: str, kinds: str = "") -> None:
    """Make an existing dataclass a composite type; see ``composite``."""
    fields = tuple(
        Field(field.name, KINDS[kind], field.default)
        for field, kind in zip(dataclasses.fields(cls), kinds.split(), strict=True)
    )
    layout = Layout(cls, name, b"\0" + encode(ULong(code)), fields)
    BY_DESCRIPTOR[code] = BY_DESCRIPTOR[f"amqp:{name}:list"] = layout
    BY_CLASS[cls] = layout
    ENCODERS[cls] = encode_composite
    KINDS[name] = nested(cls)


def nested(*classes: type) -> FieldCodec:
    """The kind of a field whose value is one of these composite types."""

    def read(value: Any) -> Any:
        return composite_of(value, *classes)

    def write(value: Any) -> bytes:
        if not isinstance(value, classes):
            raise ValueError(f"A field cannot hold a {type(value).__name__}.")
        return encode_composite(value)

    return FieldCodec(read, write)


def encode_composite(value: Any) -> bytes:
    """Encode a composite type; defaults at its end are left out.

    Raises:
        ValueError: a mandatory field is None, or a field has an invalid value.
    """
    layout = BY_CLASS[type(value)]
    written = [field_bytes(layout, field, value) for field in layout.fields]
    while written and written[-1] == NULL:
        del written[-1]
    return layout.head + of_written(written)


def field_bytes(layout: Layout, field: Field, composite: Any) -> bytes:
    value = getattr(composite, field.name)
    if value == field.default and type(value) is type(field.default):
        return NULL
    if value is None:
        raise ValueError(f"{layout.name} needs a value for {field.name}.")
    return field.kind.write(value)


def decode_composite(data: bytes, at: int, end: int) -> tuple[Any, int]:
    """Decode a composite type; as ``decode``."""
    value, at = decode(data, at, end)
    return composite_of(value), at


def composite_of(value: Any, *classes: type) -> Any:
    """The composite type of a decoded value.

    Args:
        value: a Described, by a number or a symbol.
        classes: the types allowed; by default all.

    Raises:
        AmqpError: with ``amqp:decode-error``; it is none of them, has too many fields
            or one of a wrong type, or lacks a mandatory one.
    """
    layout = layout_of(value)
    if layout is None or (classes and layout.cls not in classes):
        expected = " or ".join(cls.__name__ for cls in classes) or "composite type"
        raise AmqpError(DECODE_ERROR, f"This is no {expected}.")
    values = value.value
    if type(values) is not list or len(values) > len(layout.fields):
        description = f"{layout.name} is a list of at most {len(layout.fields)} fields."
        raise AmqpError(DECODE_ERROR, description)
    values = [*values, *[None] * (len(layout.fields) - len(values))]
    return layout.cls(
        **{
            field.name: field_of(layout, field, found)
            for field, found in zip(layout.fields, values, strict=True)
        }
    )


def known(value: Any) -> Any:
    """The value as its composite type if the type is known; else the value
    unchanged."""
    return composite_of(value) if layout_of(value) else value


def read_nodes(value: Any) -> dict[Any, Any]:
    """Properties of a dynamic node; the lifetime policy is a composite type."""
    fields = KINDS["fields"].read(value)
    return {key: known(value) for key, value in fields.items()}


KINDS["nodes"] = FieldCodec(read_nodes, KINDS["fields"].write)


def layout_of(value: Any) -> Layout | None:
    if not isinstance(value, Described):
        return None
    if not isinstance(value.descriptor, ULong | Symbol):
        return None
    return BY_DESCRIPTOR.get(value.descriptor)


def field_of(layout: Layout, field: Field, value: Any) -> Any:
    try:
        if value is not None:
            return field.kind.read(value)
    except ValueError as error:
        description = f"{layout.name}: {field.name} cannot be this: {error}"
        raise AmqpError(DECODE_ERROR, description) from error
    if field.default is dataclasses.MISSING:
        raise AmqpError(DECODE_ERROR, f"{layout.name} has no {field.name}.")
    return field.default
