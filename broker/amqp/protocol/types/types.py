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

Each of them equals the plain value that it holds: ``Symbol("a") == "a"``.

Source: AMQP 1.0, part 1, section 1.6.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


class Symbol(str):
    """A name of a protocol; of ASCII."""

    __slots__ = ()


class Char(str):
    """One character."""

    __slots__ = ()


class UByte(int):
    """Of 8 bits, without a sign."""

    __slots__ = ()


class UShort(int):
    """Of 16 bits, without a sign."""

    __slots__ = ()


class UInt(int):
    """Of 32 bits, without a sign."""

    __slots__ = ()


class ULong(int):
    """Of 64 bits, without a sign."""

    __slots__ = ()


class Byte(int):
    """Of 8 bits."""

    __slots__ = ()


class Short(int):
    """Of 16 bits."""

    __slots__ = ()


class Int(int):
    """Of 32 bits; a plain int has 64."""

    __slots__ = ()


class Timestamp(int):
    """Milliseconds since 1970, in UTC; of 64 bits, with a sign."""

    __slots__ = ()


class Float(float):
    """Of 32 bits; a plain float has 64, and is rounded when it is written as this."""

    __slots__ = ()


class Decimal32(bytes):
    """IEEE 754 decimal, in its 4 bytes as they are on the wire."""


class Decimal64(bytes):
    """IEEE 754 decimal, in its 8 bytes as they are on the wire."""


class Decimal128(bytes):
    """IEEE 754 decimal, in its 16 bytes as they are on the wire."""


@dataclass(slots=True, frozen=True)
class Described:
    """A value that says what it is: a filter, an outcome, a section."""

    descriptor: Any  # a ULong or a Symbol, by the standard
    value: Any


class Array(list[Any]):
    """Values of one type.

    Args:
        values: as they would stand alone.
        code: the constructor of each, as 0xA3; None writes it as the type of the
            first value needs.
        descriptor: of each, where they are described; the values stand without it.
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
