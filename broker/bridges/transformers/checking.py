"""Validation of the result of a transformer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from operator import attrgetter
from types import NoneType
from typing import Any

from django.conf import settings

from broker.bridges.messages import flagged
from broker.bridges.providers.interface import Destination
from broker.bridges.transformers.failing import readable
from broker.bridges.transformers.registry import BranchTo, NoTransfer, Outcome
from broker.errors import BrokerError
from broker.errors.bridges import TransformerFailed
from broker.formats.lossless_json import DEEPEST
from broker.formats.mq.descriptor import check_put
from broker.models import RoutingType
from broker.queueing.store import NewMessage

# Exactly these types are allowed: it is unknown how their subclasses would be stored.
KINDS: Mapping[str, tuple[type, ...]] = {
    "body": (bytes,),
    "content_type": (str,),
    "producer": (str,),
    "properties": (dict,),
    "priority": (int,),
    "durable": (bool,),
    "expires_at": (datetime, NoneType),
    "deliver_at": (datetime, NoneType),
    "message_id": (str, NoneType),
    "correlation_id": (str, NoneType),
    "reply_to": (str, NoneType),
    "subject": (str, NoneType),
    "group_id": (str, NoneType),
    "routing_type": (RoutingType, int, NoneType),
    "descriptor": (dict, NoneType),
    "headers": (bytes, NoneType),
    "envelope": (bytes, NoneType),
}
VALUES = attrgetter(*KINDS)
DESCRIBED = {  # descriptor fields that repeat the old value of a column
    "correl_id": "correlation_id",
    "group_id": "group_id",
    "format": "content_type",
    "coded_char_set_id": "content_type",
}
# Most bits of an integer: Python prints no more than 4,300 digits.
LARGEST_BITS = 14_000


def checked(name: str, outcome: object, original: NewMessage) -> Outcome:
    """Validate the result of a transformer.

    Args:
        name: the name of the transformer.
        outcome: its result.
        original: the message before the transformation.

    Raises:
        TransformerFailed: the result is invalid; with the reason.
    """
    try:
        match outcome:
            case NewMessage():
                return sendable(outcome, original)
            case NoTransfer():
                return outcome
            case BranchTo(destination, message):
                check_destination(destination)
                check_kind("the message of its BranchTo", message, (NewMessage,))
                return BranchTo(destination, sendable(message, original))
        raise ValueError(
            f"what it returned is {kind_of(outcome)}; that is no NewMessage, NoTransfer"
            " or BranchTo"
        )
    except (ValueError, BrokerError) as why:
        raise TransformerFailed(name, sentence(str(why))) from None


def sentence(text: str) -> str:
    shown = readable(text)
    return shown[:1].upper() + shown[1:].rstrip(".") + "."


def kind_of(value: object) -> str:
    return "None" if value is None else f"of the type {type(value).__name__}"


def sendable(message: NewMessage, original: NewMessage) -> NewMessage:
    """The message, checked that it can be stored and sent.

    Raises:
        ValueError: it cannot be; with the reason.
        BrokerError: its descriptor is invalid.
    """
    check_fields(message)
    if message.address != original.address:
        raise ValueError("it changed the address. To send elsewhere, return a BranchTo")
    check_json(message.properties, "its properties")
    if message.descriptor is not None:
        message.descriptor = descriptor_of(message, original)
    if message.envelope:
        message.envelope = envelope_of(message.envelope, original)
    return message


def check_fields(message: NewMessage) -> None:
    for (name, kinds), value in zip(KINDS.items(), VALUES(message), strict=True):
        kind = type(value)
        if kind not in kinds:
            check_kind(f"its {name}", value, kinds)
        if kind is str:
            check_text(value, f"its {name}")
        elif kind is datetime and value.utcoffset() is None:
            raise ValueError(f"its {name} has no time zone")
    check_limits(message)


def check_limits(message: NewMessage) -> None:
    kind = message.routing_type
    if kind is not None and kind not in RoutingType.values:
        raise ValueError(f"its routing_type is {kind}, which does not exist")
    if not 0 <= message.priority <= 9:
        raise ValueError(f"its priority is {message.priority}, and not from 0 to 9")
    if message.size_bytes > (most := settings.BROKER_MAX_MESSAGE_BYTES):
        raise ValueError(f"it has {message.size_bytes:,} bytes; {most:,} are allowed")


def check_kind(what: str, value: object, kinds: tuple[type, ...]) -> None:
    if type(value) not in kinds:
        wanted = " or ".join(one.__name__.removesuffix("Type") for one in kinds)
        raise ValueError(f"{what} is {kind_of(value)}, and not {wanted}")


def check_destination(destination: object) -> None:
    check_kind("the destination of its BranchTo", destination, (Destination,))
    assert isinstance(destination, Destination)
    check_kind("the name of its destination", destination.name, (str,))
    check_kind("is_topic of its destination", destination.is_topic, (bool,))
    check_text(destination.name, "the name of its destination")
    if not destination.name.strip():
        raise ValueError("its destination has no name")


def check_text(text: str, where: str) -> None:
    """Refuse a text that PostgreSQL cannot store."""
    if "\0" in text:
        raise ValueError(f"{where} has a NUL character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{where} has a lone surrogate") from None


def check_json(value: Any, where: str, depth: int = 0) -> None:
    """Refuse a value that JSON or PostgreSQL cannot store."""
    kind = type(value)
    if kind is dict or kind is list:
        check_members(value, where, depth + 1)
    elif kind is str:
        check_text(value, where)
    elif kind is int:
        if value.bit_length() > LARGEST_BITS:
            raise ValueError(f"{where} has a number that is too large")
    elif kind is float:
        if not math.isfinite(value):
            raise ValueError(f"{where} has {value}, which JSON cannot represent")
    elif kind is not bool and value is not None:
        raise ValueError(
            f"{where} has a value of the type {kind.__name__}, which is not JSON"
        )


def check_members(value: Any, where: str, depth: int) -> None:
    if depth > DEEPEST:
        raise ValueError(f"{where} is nested more than {DEEPEST} deep")
    if type(value) is list:
        for one in value:
            check_json(one, where, depth)
        return
    for name, one in value.items():
        if type(name) is not str:
            raise ValueError(f"{where} has a name that is {kind_of(name)}, and no text")
        check_text(name, where)
        check_json(one, f"its property {name[:64]!r}" if depth == 1 else where, depth)


def descriptor_of(message: NewMessage, original: NewMessage) -> Mapping[str, Any]:
    """IBM MQ's descriptor, without fields that contradict changed columns."""
    before, after = original.descriptor or {}, message.descriptor or {}
    kept = {
        name: value
        for name, value in after.items()
        if (column := DESCRIBED.get(name)) is None
        or value != before.get(name)
        or getattr(message, column) == getattr(original, column)
    }
    if kept != before:
        check_put(kept, message.reply_to)
    return kept


def envelope_of(envelope: bytes, original: NewMessage) -> bytes:
    """The AMQP envelope, with the flag that the columns override it.

    The flag is set even if nothing changed: values that agree with their columns stay
    unchanged, byte for byte.
    """
    was = original.envelope
    if not was or envelope not in (was, flagged(was)):
        raise ValueError("its envelope is neither what it was nor None")
    return flagged(was)
