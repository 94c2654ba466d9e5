"""Frames of a session as somebody writes them who means harm, or has bad memory."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random
from typing import Any

from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.frames import HEAD, frame
from broker.amqp.protocol.types.decoding import decode
from broker.amqp.protocol.types.encoding import encode
from broker.amqp.protocol.types.types import (
    Array,
    Described,
    Symbol,
    Timestamp,
    UInt,
    ULong,
)

SIZES = (0, 1, 7, 8, 9, 511, 65_536, 65_537, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)
NUMBERS = (0, 1, 2, 3, 255, 256, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1)
CHANNELS = (0, 0, 0, 0, 1, 255, 256, 65_535)
CODES = (
    *range(0x10, 0x1E),
    *range(0x23, 0x36),
    *range(0x40, 0x45),
    *range(0x70, 0x79),
)
DEEPEST = 5000
LIST32 = struct.Struct(">BII")
ARRAY32 = struct.Struct(">BIIB")

Mutation = Callable[[list[bytes], Random], None]


def mutate(frames: list[bytes], draw: Random) -> list[bytes]:
    """The same session with something wrong in it; mostly one thing."""
    mutated = list(frames)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        draw.choice(MUTATIONS)(mutated, draw)
    return mutated


def flip(frames: list[bytes], draw: Random) -> None:
    at = place(frames, draw)
    changed = bytearray(frames[at])
    for _ in range(draw.choice((1, 1, 2, 8))):
        if changed:
            changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    frames[at] = bytes(changed)


def resize(frames: list[bytes], draw: Random) -> None:
    """The frame says another size than it has."""
    at = place(frames, draw)
    near = len(frames[at]) + draw.choice((-1, 1))
    size = draw.choice((*SIZES, max(0, near)))
    frames[at] = struct.pack(">I", size) + frames[at][4:]


def inner_size(frames: list[bytes], draw: Random) -> None:
    """Some four bytes in it become a number; often a size or a count."""
    at = place(frames, draw)
    data = frames[at]
    if len(data) > 12:
        begin = draw.randrange(8, len(data) - 3)
        number = struct.pack(">I", draw.choice(SIZES))
        frames[at] = data[:begin] + number + data[begin + 4 :]


def offset(frames: list[bytes], draw: Random) -> None:
    """Its body begins elsewhere, or it is of another kind or channel."""
    at = place(frames, draw)
    data = frames[at]
    if len(data) >= 8:
        head = (draw.choice((0, 1, 3, 255)), draw.choice((0, 1, 2)))
        frames[at] = (
            struct.pack(">IBBH", len(data), *head, draw.choice(CHANNELS)) + (data[8:])
        )


def truncate(frames: list[bytes], draw: Random) -> None:
    at = place(frames, draw)
    frames[at] = frames[at][: draw.randrange(len(frames[at]) + 1)]


def cut_off(frames: list[bytes], draw: Random) -> None:
    """Nothing comes behind some byte."""
    truncate(frames, draw)
    del frames[draw.randrange(len(frames)) + 1 :]


def double(frames: list[bytes], draw: Random) -> None:
    at = place(frames, draw)
    frames[at:at] = [frames[at]] * draw.choice((1, 1, 2, 50))


def drop(frames: list[bytes], draw: Random) -> None:
    if len(frames) > 1:
        del frames[place(frames, draw)]


def shuffle(frames: list[bytes], draw: Random) -> None:
    at = place(frames, draw)
    some = frames[at:]
    draw.shuffle(some)
    frames[at:] = some


def field(frames: list[bytes], draw: Random) -> None:
    """One field of a performative holds something else; its size is right."""
    at = place(frames, draw)
    read = read_frame(frames[at])
    if read is None:
        return
    channel, kind, said, payload = read
    fields = list(said.value)
    place_of_it = draw.randrange(len(fields) + 1)
    fields[place_of_it : place_of_it + 1] = [anything(draw)]
    body = encode(Described(said.descriptor, fields)) + payload
    frames[at] = frame(channel, body, kind=kind)


def hostile(frames: list[bytes], draw: Random) -> None:
    """A performative, or what could be one, of fields that are no fields of it."""
    fields = [anything(draw) for _ in range(draw.randrange(16))]
    descriptor: Any = ULong(draw.choice(CODES))
    if draw.random() < 0.1:
        descriptor = Symbol(draw.choice(("amqp:transfer:list", "amqp:open:list", "x")))
    body = encode(Described(descriptor, fields))
    kind = draw.choice((0, 0, 0, 0, 1))
    add(frames, draw, frame(draw.choice(CHANNELS), body, kind=kind))


def zero_width(frames: list[bytes], draw: Random) -> None:
    """An array of elements that take no room, and of which there are billions."""
    count = draw.choice((2**16, 2**31 - 1, 2**32 - 1))
    code = draw.choice((0x40, 0x41, 0x42, 0x43, 0x44, 0x45))
    array = ARRAY32.pack(0xF0, 5, count, code)
    fields = LIST32.pack(0xD0, 4 + len(array), 1) + array
    add(frames, draw, frame(0, head(draw) + fields))


def nest(frames: list[bytes], draw: Random) -> None:
    """Lists in lists; or descriptors of descriptors."""
    depth = draw.choice((33, 50, 500, DEEPEST))
    if draw.random() < 0.3:
        add(frames, draw, frame(0, head(draw) + bytes(depth)))
        return
    inner = b"\x45"
    for _ in range(depth):
        inner = LIST32.pack(0xD0, 4 + len(inner), 1) + inner
    add(frames, draw, frame(0, head(draw) + inner))


def noise(frames: list[bytes], draw: Random) -> None:
    body = draw.randbytes(draw.choice((0, 1, 8, 100, 5000)))
    add(frames, draw, frame(0, body) if draw.random() < 0.5 else body)


MUTATIONS: tuple[Mutation, ...] = (
    *(flip, flip, resize, inner_size, offset, truncate, cut_off, double, drop),
    *(shuffle, field, field, field, hostile, hostile, zero_width, nest, noise),
)


def anything(draw: Random, depth: int = 0) -> Any:
    """A value of some type, at the edges of it."""
    if depth < 3 and draw.random() < 0.25:
        inner = [anything(draw, depth + 1) for _ in range(draw.randrange(4))]
        described = Described(ULong(draw.choice(CODES)), inner)
        mapped = {Symbol(f"{number}"): value for number, value in enumerate(inner)}
        return draw.choice((inner, described, mapped))
    number = draw.choice(NUMBERS)
    return draw.choice(
        (
            *(None, True, False, number, UInt(number), UInt(number), ULong(number)),
            *(Timestamp(number), -number, 0.5, b"", draw.randbytes(4), bytes(300)),
            *("", "fuzz", "\0", "x" * 300, Symbol(""), Symbol("amqp:not-found")),
            Array([Symbol("a"), Symbol("b")]),
        )
    )


def head(draw: Random) -> bytes:
    return b"\0\x53" + bytes((draw.choice(CODES),))


def place(frames: list[bytes], draw: Random) -> int:
    return draw.randrange(len(frames))


def add(frames: list[bytes], draw: Random, data: bytes) -> None:
    frames.insert(draw.randrange(len(frames) + 1), data)


def read_frame(data: bytes) -> tuple[int, int, Described, bytes] | None:
    """Channel, kind, performative and payload; None if it is no whole frame."""
    if len(data) < 8 or data.startswith(b"AMQP"):
        return None
    size, begin, kind, channel = HEAD.unpack_from(data)
    if size != len(data) or not 8 <= 4 * begin <= size:
        return None
    try:
        said, at = decode(data, 4 * begin, size)
    except AmqpError:
        return None
    if not isinstance(said, Described) or not isinstance(said.value, list):
        return None
    return channel, kind, said, data[at:]
