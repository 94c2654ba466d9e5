"""Fast encoding and decoding of flow, transfer and disposition.

Unusual encodings – constructors that known peers do not use, states with fields, values
of wrong types – go to the general codec (``composites``), which also raises the errors.
Tests check that both codecs give the same results.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import product
from typing import Any

from broker.amqp.protocol.states import Accepted
from broker.amqp.protocol.transport import Disposition, Flow, Transfer
from broker.amqp.protocol.types.encoding import NULL, of_written

LIST = 0xC0  # constructor of a list with lengths of one byte
ABSENT = 0x40
SHORT_BINARY = 0xA0
TAG = 32  # longest tag, in bytes

# Number of bytes of an unsigned integer with its constructor, by constructor.
WIDTHS = {0x43: 1, 0x52: 2, 0x70: 5}
WIDTHS_OR_NULL = {ABSENT: 1, **WIDTHS}
ROLES = {0x41: True, 0x42: False}

THE_ACCEPTED = Accepted()  # has no fields: one instance is enough


class Unusual(Exception):
    """The fast code cannot handle this frame; the general codec must."""


UNUSUAL = (Unusual, KeyError, IndexError, TypeError, struct.error)

# The last fields of performatives, decoded together by their bytes. -------------------

FLAG = {NULL: False, b"\x41": True, b"\x42": False}
MAYBE = {NULL: None, b"\x41": True, b"\x42": False}
NOTHING = {NULL: None}
STATE = {
    NULL: None,
    b"\x00\x53\x24\x45": THE_ACCEPTED,
    b"\x00\x53\x24\xc0\x01\x00": THE_ACCEPTED,
}


def endings(*fields: dict[bytes, Any]) -> dict[bytes, tuple[int, tuple[Any, ...]]]:
    """All possible encodings of some last fields, each with the number of fields in it
    and the values of all fields. Fields left out count as null."""
    return {
        b"".join(written): (
            length,
            tuple(
                field[one]
                for field, one in zip(fields, written + (NULL,) * 7, strict=False)
            ),
        )
        for length in range(len(fields) + 1)
        for written in product(*fields[:length])
    }


# The last fields of a transfer: settled, more, mode, state, resume, aborted, batchable.
TRANSFERS = endings(MAYBE, FLAG, NOTHING, NOTHING, FLAG, FLAG, FLAG)
# The last fields of a disposition: settled, state, batchable.
DISPOSITIONS = endings(FLAG, STATE, FLAG)
# The last fields of a flow: drain, echo, properties.
FLOWS = endings(FLAG, FLAG, NOTHING)


# Decoding, from the descriptor on. ----------------------------------------------------


def bounds(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    """The offsets of the first field and of the end, and the number of fields."""
    stop = at + 5 + data[at + 4]
    if data[at] or data[at + 1] != 0x53 or data[at + 3] != LIST or stop > end:
        raise Unusual
    return at + 6, stop, data[at + 5]


def read_transfer(data: bytes, at: int, end: int) -> tuple[Transfer, int]:
    a, stop, count = bounds(data, at, end)
    b = a + WIDTHS[data[a]]
    c = b + WIDTHS[data[b]]
    d = c + 2 + data[c + 1]
    e = d + WIDTHS[data[d]]
    length, ending = TRANSFERS[data[e:stop]]
    if count != 4 + length or e > stop:
        raise Unusual
    if data[c] != SHORT_BINARY or d - c - 2 > TAG:
        raise Unusual
    return (
        Transfer(
            int.from_bytes(data[a + 1 : b]),
            int.from_bytes(data[b + 1 : c]),
            data[c + 2 : d],
            int.from_bytes(data[d + 1 : e]),
            *ending,
        ),
        stop,
    )


def read_disposition(data: bytes, at: int, end: int) -> tuple[Disposition, int]:
    a, stop, count = bounds(data, at, end)
    b = a + 1 + WIDTHS[data[a + 1]]
    c = b + WIDTHS_OR_NULL[data[b]]
    length, ending = DISPOSITIONS[data[c:stop]]
    if count != 3 + length or c > stop:
        raise Unusual
    first = int.from_bytes(data[a + 2 : b])
    last = None if data[b] == ABSENT else int.from_bytes(data[b + 1 : c])
    return Disposition(ROLES[data[a]], first, last, *ending), stop


def read_flow(data: bytes, at: int, end: int) -> tuple[Flow, int]:
    at, stop, count = bounds(data, at, end)
    numbers: list[Any] = []
    for _ in range(min(count, 8)):
        begin, at = at, at + WIDTHS_OR_NULL[data[at]]
        absent = data[begin] == ABSENT
        numbers.append(None if absent else int.from_bytes(data[begin + 1 : at]))
    numbers += [None] * (8 - count)
    length, (drain, echo, _) = FLOWS[data[at:stop]]
    if length != max(count - 8, 0) or at > stop:
        raise Unusual
    if None in numbers[1:4]:
        raise Unusual
    return (
        Flow(
            next_incoming_id=numbers[0],
            incoming_window=numbers[1],
            next_outgoing_id=numbers[2],
            outgoing_window=numbers[3],
            handle=numbers[4],
            delivery_count=numbers[5],
            link_credit=numbers[6],
            available=numbers[7],
            drain=drain,
            echo=echo,
        ),
        stop,
    )


READERS: dict[int, Callable[[bytes, int, int], tuple[Any, int]]] = {
    0x13: read_flow,
    0x14: read_transfer,
    0x15: read_disposition,
}

# Encoding. ----------------------------------------------------------------------------

NUMBERS = {
    0: b"\x43",
    **{number: bytes((0x52, number)) for number in range(1, 256)},
}
TAGS = [bytes((SHORT_BINARY, length)) for length in range(TAG + 1)]

WIDE = struct.Struct(">BI").pack


def heads(code: int, count: int) -> list[bytes]:
    """The first bytes of a list of ``count`` fields, indexed by the fields' size."""
    return [bytes((0, 0x53, code, LIST, size + 1, count)) for size in range(255)]


# The end and the possible heads of a transfer, by the values of settled and more.
TRANSFER_ENDS = {
    (None, False): (b"", heads(0x14, 4)),
    (True, False): (b"\x41", heads(0x14, 5)),
    (False, False): (b"\x42", heads(0x14, 5)),
    (None, True): (b"\x40\x41", heads(0x14, 6)),
    (True, True): (b"\x41\x41", heads(0x14, 6)),
    (False, True): (b"\x42\x41", heads(0x14, 6)),
}
DISPOSITION_ENDS = {
    True: b"\x41\x00\x53\x24\x45",
    False: b"\x40\x00\x53\x24\x45",
}
DISPOSITION_HEADS = heads(0x15, 5)
FLOW_HEAD = b"\x00\x53\x13"


def number(value: int) -> bytes:
    return NUMBERS.get(value) or WIDE(0x70, value)


def transfer_head(
    handle: int,
    delivery_id: int,
    tag: bytes,
    *,
    settled: bool | None,
    more: bool = False,
    message_format: int = 0,
) -> bytes:
    """Encode the transfer of a message, or of its first part, without the payload.

    Raises:
        IndexError, struct.error: the tag is longer than 32 bytes, or a number is
            outside the bounds of its type.
    """
    end, by_size = TRANSFER_ENDS[settled, more]
    fields = (
        (NUMBERS.get(handle) or WIDE(0x70, handle))
        + (NUMBERS.get(delivery_id) or WIDE(0x70, delivery_id))
        + TAGS[len(tag)]
        + tag
        + (NUMBERS.get(message_format) or WIDE(0x70, message_format))
        + end
    )
    return by_size[len(fields)] + fields


def write_transfer(transfer: Transfer) -> bytes:
    form, tag = transfer.message_format, transfer.delivery_tag
    if transfer.delivery_id is None or form is None or tag is None:
        raise Unusual
    if transfer.rcv_settle_mode is not None or transfer.state is not None:
        raise Unusual
    if transfer.resume or transfer.aborted or transfer.batchable:
        raise Unusual
    return transfer_head(
        transfer.handle,
        transfer.delivery_id,
        tag,
        settled=transfer.settled,
        more=transfer.more,
        message_format=form,
    )


def write_disposition(disposition: Disposition) -> bytes:
    if type(disposition.state) is not Accepted or disposition.batchable:
        raise Unusual
    last = disposition.last
    fields = (
        (b"\x41" if disposition.role else b"\x42")
        + number(disposition.first)
        + (NULL if last is None else number(last))
        + DISPOSITION_ENDS[disposition.settled]
    )
    return DISPOSITION_HEADS[len(fields)] + fields


def write_flow(flow: Flow) -> bytes:
    if flow.properties is not None:
        raise Unusual
    numbers = (
        *(flow.next_incoming_id, flow.incoming_window, flow.next_outgoing_id),
        *(flow.outgoing_window, flow.handle, flow.delivery_count),
        *(flow.link_credit, flow.available),
    )
    if None in numbers[1:4]:
        raise Unusual
    written = [NULL if value is None else number(value) for value in numbers]
    if flow.drain or flow.echo:
        written.append(b"\x41" if flow.drain else NULL)
        written.append(b"\x41" if flow.echo else NULL)
    while written[-1] == NULL:
        del written[-1]
    return FLOW_HEAD + of_written(written)


WRITERS: dict[type, Callable[[Any], bytes]] = {
    Flow: write_flow,
    Transfer: write_transfer,
    Disposition: write_disposition,
}
