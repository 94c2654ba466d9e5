"""Composite types: lists that say what they are, as dataclasses.

A class is made one by ``composite``, which also names what each field is on the wire.
Reading fills fields in by the standard's defaults; one without a default is mandatory.
Writing leaves out what is as by default.

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
    """``default`` is MISSING where the field is mandatory."""

    name: str
    kind: FieldCodec
    default: Any


@dataclasses.dataclass(slots=True, frozen=True)
class Layout:
    """A composite type on the wire."""

    cls: type
    name: str
    head: bytes  # its descriptor, written
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
    """Make a dataclass of a class, and a composite type of that.

    Args:
        code: its descriptor, as 0x10.
        name: the same as a symbol, without ``amqp:`` and ``:list``.
        kinds: of the fields in their order, by the names in ``kinds.KINDS``.
        kw_only: its fields cannot be given by position.
        frozen: they cannot be changed.
    """

    def make(cls: type[T]) -> type[T]:
        made = dataclasses.dataclass(slots=True, kw_only=kw_only, frozen=frozen)(cls)
        register(made, code, name, kinds)
        return made

    return make


def register(cls: Any, code: int, name: str, kinds: str = "") -> None:
    """Make a composite type of what is a dataclass already; as ``composite``."""
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
    """The kind of a field that holds one of these composite types."""

    def read(value: Any) -> Any:
        return composite_of(value, *classes)

    def write(value: Any) -> bytes:
        if not isinstance(value, classes):
            raise ValueError(f"A field cannot hold a {type(value).__name__}.")
        return encode_composite(value)

    return FieldCodec(read, write)


def encode_composite(value: Any) -> bytes:
    """Write a composite type, without what is as by default at its end.

    Raises:
        ValueError: a mandatory field is None, or a field holds what it cannot.
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
    """Read a composite type; as ``decode``."""
    value, at = decode(data, at, end)
    return composite_of(value), at


def composite_of(value: Any, *classes: type) -> Any:
    """Make what was decoded the composite type that it says it is.

    Args:
        value: a Described, of a number or a symbol.
        classes: it must be one of these; any will do where there is none.

    Raises:
        AmqpError: with ``amqp:decode-error``; it is none of them, has a field too many
            or one of another type, or lacks a mandatory one.
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
    """A composite type where it is one that we know; otherwise as it is."""
    return composite_of(value) if layout_of(value) else value


def read_nodes(value: Any) -> dict[Any, Any]:
    """The properties of a dynamic node; its lifetime is a composite type."""
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
