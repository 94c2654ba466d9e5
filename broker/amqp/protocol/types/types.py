"""The types of AMQP that Python lacks.

===========================  =======================================================
AMQP                         Python
===========================  =======================================================
null, boolean                ``None``, ``bool``
long, double                 ``int``, ``float``
string, binary, uuid         ``str``, ``bytes``, ``uuid.UUID``
list, map                    ``list``, ``dict``
array                        ``Array``
everything else              the class below with its name
===========================  =======================================================

Each value equals its plain Python value: ``Symbol("a") == "a"``.

Source: AMQP 1.0, part 1, section 1.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class Symbol(str):
    """A symbolic name, in ASCII."""

    __slots__ = ()


class Char(str):
    """One character."""

    __slots__ = ()


class UByte(int):
    """An unsigned integer of 8 bits."""

    __slots__ = ()


class UShort(int):
    """An unsigned integer of 16 bits."""

    __slots__ = ()


class UInt(int):
    """An unsigned integer of 32 bits."""

    __slots__ = ()


class ULong(int):
    """An unsigned integer of 64 bits."""

    __slots__ = ()


class Byte(int):
    """A signed integer of 8 bits."""

    __slots__ = ()


class Short(int):
    """A signed integer of 16 bits."""

    __slots__ = ()


class Int(int):
    """A signed integer of 32 bits; a plain int has 64."""

    __slots__ = ()


class Timestamp(int):
    """Milliseconds since 1970, in UTC; a signed integer of 64 bits."""

    __slots__ = ()


class Float(float):
    """A float of 32 bits. A plain float has 64; encoding this type rounds it."""

    __slots__ = ()


class Decimal32(bytes):
    """An IEEE 754 decimal, as its 4 bytes on the wire."""


class Decimal64(bytes):
    """An IEEE 754 decimal, as its 8 bytes on the wire."""


class Decimal128(bytes):
    """An IEEE 754 decimal, as its 16 bytes on the wire."""


@dataclass(slots=True, frozen=True)
class Described:
    """A value with a descriptor of its type: a filter, an outcome, a section."""

    descriptor: Any  # a ULong or a Symbol, as the standard says
    value: Any


class Array(list[Any]):
    """Values of one type.

    Args:
        values: the values.
        code: their constructor, as 0xA3; None: that of the first value's type.
        descriptor: the descriptor of each value, if they are described; ``values`` are
            without it.
    """

    __slots__ = ("code", "descriptor")

    def __init__(
        self,
        values: Iterable[Any] = (),
        code: int | None = None,
        descriptor: Any = None,
    ) -> None:
        super().__init__(values)
        self.code = code
        self.descriptor = descriptor
