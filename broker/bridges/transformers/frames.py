"""Frames between a link and a worker process: JSON, then octets.

    length of the JSON, length of the rest     8 bytes
    JSON                                       an object
    octets                                     one part after the other

Decoding creates plain values only, whatever is received. One side asks and the other
answers, so at most one frame is in transfer.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from struct import Struct
from typing import Any, NamedTuple

HEAD = Struct(">II")
# Key in the JSON for the lengths of the parts; a length of None: the part is missing.
LENGTHS = "octets"
AT_ONCE = 2**16  # most bytes of one read
LONGEST_WAIT_S = 86_400.0
encode = json.JSONEncoder(default=datetime.isoformat).encode
decode = json.JSONDecoder().decode


class WorkerFrame(NamedTuple):
    """A decoded frame."""

    said: dict[str, Any]
    octets: list[bytes | None]


def framed(said: Mapping[str, Any], octets: Sequence[bytes | None] = ()) -> bytes:
    """Encode a frame.

    Raises:
        ValueError: a part is longer than 4 GiB.
    """
    lengths = [None if one is None else len(one) for one in octets]
    text = encode({**said, LENGTHS: lengths}).encode()
    rest = b"".join(one for one in octets if one)
    if max(len(text), len(rest)) >= 2**32:
        raise ValueError("the message is too long for a worker process")
    return b"".join((HEAD.pack(len(text), len(rest)), text, rest))


def send(channel: socket.socket, frame: bytes, until: float | None = None) -> None:
    """Send a frame.

    Args:
        until: a time of the monotonic clock; None: the socket's time-out.

    Raises:
        TimeoutError: the time is over.
        OSError: the other side is gone.
    """
    if until is not None:
        channel.settimeout(left(until))
    channel.sendall(frame)


def receive(channel: socket.socket, until: float | None = None) -> WorkerFrame:
    """Receive the next frame.

    Args:
        until: a time of the monotonic clock; None: the socket's time-out.

    Raises:
        EOFError: the other side is gone.
        OSError: the same.
        TimeoutError: the time is over.
        ValueError: the bytes are no frame.
    """
    came = bytearray()
    wanted = HEAD.size
    while len(came) < wanted:
        if until is not None:
            channel.settimeout(left(until))
        some = channel.recv(AT_ONCE)
        if not some:
            raise EOFError
        came += some
        if len(came) >= HEAD.size and wanted == HEAD.size:
            wanted += sum(HEAD.unpack_from(came))
    if len(came) > wanted:
        raise ValueError("more data came than one frame")
    return opened(bytes(came))


def left(until: float) -> float:
    """The seconds left until this time."""
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise TimeoutError
    return min(seconds, LONGEST_WAIT_S)


def opened(frame: bytes) -> WorkerFrame:
    """Decode a frame.

    Raises:
        ValueError: the bytes are not a frame.
    """
    length, rest = HEAD.unpack_from(frame)
    said = decode(frame[HEAD.size : HEAD.size + length].decode())
    lengths = said.pop(LENGTHS, None) if isinstance(said, dict) else None
    if not isinstance(lengths, list) or sum(one or 0 for one in lengths) != rest:
        raise ValueError("the data is not a frame")
    octets: list[bytes | None] = []
    at = HEAD.size + length
    for one in lengths:
        octets.append(None if one is None else frame[at : at + one])
        at += one or 0
    return WorkerFrame(said, octets)
