"""AMQP 0-9-1 frames of messages, encoded and decoded many at a time, for speed.

py-amqp needs several system calls and copies for each message. This module replaces
only that; the connection, its channels and all other methods are py-amqp's.

Source:
    AMQP 0-9-1, sections 2.3.5, "Frame details", and 4.2.6, "Content framing".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, NamedTuple

import amqp
from amqp.method_framing import frame_handler as usual_frame_handler
from amqp.serialization import dumps
from amqp.spec import Basic

METHOD, HEADER, BODY = 1, 2, 3  # types of frames
END = b"\xce"
AROUND = 8  # bytes of a frame that are not its payload
FRAME = Struct(">BHI")
SIGNATURE = Struct(">HH")
CONTENT = Struct(
    ">HHQ"
)  # class, weight, length of the body; flags and properties follow
LONG = Struct(">Q")
OCTET = Struct("B")
COUNT = Struct(">I")
TEXT = Struct(">cI")  # a text in a table: type and length
SURROGATES = "surrogatepass"  # codec error handler for texts
FIELDS = tuple(  # name, flag, and type of each property
    (name, 1 << (15 - place), kind)
    for place, (name, kind) in enumerate(amqp.Message.PROPERTIES)
)
NAMES = [name for name, _, _ in FIELDS]
MESSAGE_ID = "message_id"
FLAGS_BYTES = 2
TAKEN = frozenset({SIGNATURE.pack(*Basic.Deliver), SIGNATURE.pack(*Basic.Return)})

Frame = tuple[int, int, bytes]  # kind, channel, payload


class Content(NamedTuple):
    """A received message: the payloads of its frames."""

    method: bytes
    header: bytes
    body: bytes

    @property
    def raw(self) -> bytes:
        """The encoded properties."""
        return self.header[CONTENT.size :]


Taker = Callable[[Content], None]


def framed(kind: int, channel: int, payload: bytes) -> bytes:
    return b"".join((FRAME.pack(kind, channel, len(payload)), payload, END))


def publishing(channel: int, exchange: str, routing_key: str) -> bytes:
    """The method frame of a publish; an unroutable message is returned."""
    arguments = dumps("Bssbb", (0, exchange, routing_key, True, False))
    return framed(METHOD, channel, SIGNATURE.pack(*Basic.Publish) + arguments)


def encoded(properties: Mapping[str, Any]) -> bytes:
    """Encode properties for a header: flags and values.

    Raises:
        ValueError: a text is not UTF-8.
    """
    flags, values = 0, []
    for name, flag, kind in FIELDS:
        if name in properties:
            flags |= flag
            values.append(written(kind, properties[name]))
    return flags.to_bytes(FLAGS_BYTES, "big") + b"".join(values)


def encoded_around(properties: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """As ``encoded``, for messages that differ in their ids only: the bytes before the
    text of the id, and those after it.

    Args:
        properties: those of one of them; the ids of all have the same length.
    """
    whole = encoded(properties)
    values = [
        written(kind, properties[name])
        for name, _, kind in FIELDS[: 1 + NAMES.index(MESSAGE_ID)]
        if name in properties
    ]
    end = FLAGS_BYTES + sum(map(len, values))
    return whole[: end - len(properties[MESSAGE_ID])], whole[end:]


def written(kind: str, value: Any) -> bytes:
    """Encode a value; the usual kinds without py-amqp's slower code."""
    if kind == "s" and isinstance(value, str):
        text = value.encode("utf-8", SURROGATES)
        return OCTET.pack(len(text)) + text
    if kind == "o":
        return OCTET.pack(value)
    if kind == "L":
        return LONG.pack(value)
    if kind == "F" and {*map(type, value.values())} == {str}:
        return table_of_texts(value)
    return bytes(dumps(kind, [value]))


def table_of_texts(table: Mapping[str, str]) -> bytes:
    parts: list[bytes] = []
    for name, value in table.items():
        key, text = name.encode("utf-8", SURROGATES), value.encode("utf-8", SURROGATES)
        parts += OCTET.pack(len(key)), key, TEXT.pack(b"S", len(text)), text
    fields = b"".join(parts)
    return COUNT.pack(len(fields)) + fields


def content(
    channel: int, properties: bytes, body: bytes, frame_max: int
) -> list[bytes]:
    """The header and body frames of a message, in parts.

    Args:
        properties: the result of ``encoded``; they fit into one frame.
        frame_max: bytes of the longest frame, as negotiated.
    """
    size, most = len(body), frame_max - AROUND
    head = CONTENT.pack(Basic.CLASS_ID, 0, size) + properties
    frames = [FRAME.pack(HEADER, channel, len(head)), head, END]
    if 0 < size <= most:
        frames += FRAME.pack(BODY, channel, size), body, END
    else:
        for start in range(0, size, most):
            frames.append(framed(BODY, channel, body[start : start + most]))
    return frames


def frame_handler(
    connection: Any, callback: Callable[..., None]
) -> Callable[[Frame], bool]:
    """A faster replacement of py-amqp's frame handler, for messages.

    Args:
        connection: its ``takers`` are called with the messages, by channel.
        callback: py-amqp's callback, for other frames.

    Returns:
        A function to call with each frame; it returns whether a method or message is
        complete.
    """
    usual = usual_frame_handler(connection, callback)
    takers: Mapping[int, Taker] = connection.takers
    # Incomplete messages, by channel.
    begun: dict[int, tuple[bytes, bytes, int, list[bytes]]] = {}

    def on_frame(frame: Frame) -> bool:
        kind, channel, payload = frame
        if kind == METHOD:
            if payload[:4] not in TAKEN or channel not in takers:
                return bool(usual(frame))
            begun[channel] = payload, b"", 0, []
            return False
        if channel not in begun:
            return bool(usual(frame))
        connection.bytes_recv += 1  # the received frame counts as a heartbeat
        method, header, left, parts = begun[channel]
        if kind == HEADER:
            header, left = payload, LONG.unpack_from(payload, 4)[0]
        else:
            left -= len(payload)
            parts.append(payload)
        if left:
            begun[channel] = method, header, left, parts
            return False
        del begun[channel]
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        if taker := takers.get(channel):
            taker(Content(method, header, body))
        return True

    return on_frame
