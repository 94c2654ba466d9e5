"""The RFH2 folders that JMS uses for a message: mcd, jms and usr."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, Protocol

from broker.errors.mq_codes import Format
from broker.formats.mq.descriptor import format_of
from broker.formats.mq.folders import LONGEST, MOST, Element, Folder, written

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
USUAL_PRIORITY = 4
NOT_PERSISTENT, PERSISTENT = 1, 2  # values of JMSDeliveryMode


class Sent(Protocol):
    """The message from which the folders are made; a delivery implements this
    protocol."""

    @property
    def address(self) -> str: ...
    @property
    def priority(self) -> int: ...
    @property
    def durable(self) -> bool: ...
    @property
    def put_at(self) -> datetime: ...
    @property
    def expires_at(self) -> datetime | None: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def group_id(self) -> str | None: ...
    @property
    def subject(self) -> str | None: ...
    @property
    def content_type(self) -> str: ...
    @property
    def properties(self) -> Mapping[str, Any]: ...


def folders_for_jms(message: Sent) -> tuple[Folder, ...]:
    """The folders mcd, jms and usr of a message; usr only if it has properties.

    Values that XML cannot express are left out; the message has them in its columns.

    Source:
        IBM MQ documentation, "The MQRFH2 header and JMS".
    """
    usr = (user_property(name, value) for name, value in message.properties.items())
    folders = (folder("mcd", shape(message)), folder("jms", headers(message)))
    return (*folders, folder("usr", usr)) if message.properties else folders


def folder(name: str, elements: Iterator[Element]) -> Folder:
    """A folder with the elements that XML can express, up to its maximum size."""
    carried: list[Element] = []
    room = LONGEST - len(f"<{name}></{name}>")
    for element in islice(elements, MOST - 1):
        if (length := len(written(element))) <= room and can_be_written(element):
            carried.append(element)
            room -= length
    return Folder.of(name, *carried)


def can_be_written(element: Element) -> bool:
    try:
        Folder.of("usr", element)
    except ValueError:
        return False
    return True


def shape(message: Sent) -> Iterator[Element]:
    is_text = format_of(message.content_type) == Format.STRING
    yield Element("Msd", "jms_text" if is_text else "jms_bytes")
    if message.subject is not None:
        yield Element("Type", message.subject)


def headers(message: Sent) -> Iterator[Element]:
    yield Element("Dst", f"queue:///{message.address}")
    if message.reply_to is not None:
        yield Element("Rto", f"queue:///{message.reply_to}")
    if message.priority != USUAL_PRIORITY:
        yield Element("Pri", str(message.priority))
    yield Element("Tms", str(milliseconds(message.put_at)))
    if message.expires_at is not None:
        yield Element("Exp", str(milliseconds(message.expires_at)))
    if message.correlation_id is not None:
        yield Element("Cid", message.correlation_id)
    yield Element("Dlv", str(PERSISTENT if message.durable else NOT_PERSISTENT))
    if message.group_id is not None:
        yield Element("Gid", message.group_id)


def user_property(name: str, value: Any) -> Element:
    """A JSON value with its type in an RFH2; a value whose type an RFH2 lacks becomes
    text."""
    if isinstance(value, bool):
        return Element(name, value, "boolean")
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return Element(name, value, "i4" if -(2**31) <= value < 2**31 else "i8")
    if isinstance(value, float):
        return Element(name, value, "r8")
    if value is None or isinstance(value, str):
        return Element(name, value)
    return Element(name, json.dumps(value))


def milliseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)
