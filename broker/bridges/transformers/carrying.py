"""Encoding of requests to a worker process, and of its answers."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import Any

from broker.bridges.providers.interface import Destination
from broker.bridges.transformers.frames import WorkerFrame, framed
from broker.bridges.transformers.registry import (
    BranchTo,
    Context,
    NoTransfer,
    Outcome,
)
from broker.formats import moments
from broker.models import RoutingType
from broker.queueing.store import NewMessage

OCTETS = ("body", "headers", "envelope")
NAMES = tuple(one.name for one in fields(NewMessage) if one.name not in OCTETS)
octets_of = attrgetter(*OCTETS)
values_of = attrgetter(*NAMES)


def encode_request(name: str, message: NewMessage, context: Context) -> bytes:
    """Encode a request to a worker.

    Args:
        name: the name of the transformer.
    """
    for_whom = (
        dict(context.properties),
        context.source_provider,
        context.target_provider,
        context.bridge,
        context.link,
    )
    said = {"name": name, "context": for_whom, "message": values_of(message)}
    return framed(said, octets_of(message))


def question(frame: WorkerFrame) -> tuple[str, NewMessage, Context]:
    """Decode a request: the transformer's name, the message, and the context."""
    said = frame.said
    return said["name"], message_of(frame), Context(*said["context"])


def answered(outcome: Outcome) -> bytes:
    """Encode a worker's answer."""
    match outcome:
        case NoTransfer():
            return framed({"outcome": "no transfer"})
        case BranchTo(destination, message):
            return framed(
                {
                    "outcome": "branch",
                    "destination": destination,
                    "message": values_of(message),
                },
                octets_of(message),
            )
        case message:
            return framed(
                {"outcome": "message", "message": values_of(message)},
                octets_of(message),
            )


def failed(why: str) -> bytes:
    """Encode a worker's answer about a failure.

    Args:
        why: the reason; see ``TransformerFailed``.
    """
    return framed({"outcome": "failed", "why": why})


def outcome_of(frame: WorkerFrame) -> Outcome:
    """Decode a worker's answer, if it is not about a failure.

    Raises:
        LookupError, TypeError, ValueError: the bytes are not an answer.
    """
    match frame.said["outcome"]:
        case "no transfer":
            return NoTransfer()
        case "branch":
            return BranchTo(Destination(*frame.said["destination"]), message_of(frame))
        case "message":
            return message_of(frame)
    raise ValueError("there is no such outcome")


def message_of(frame: WorkerFrame) -> NewMessage:
    said: dict[str, Any] = dict(zip(NAMES, frame.said["message"], strict=True))
    for name in ("expires_at", "deliver_at"):
        if said[name] is not None:
            said[name] = moments.parse(said[name])
    if said["routing_type"] is not None:
        said["routing_type"] = RoutingType(said["routing_type"])
    said |= zip(OCTETS, frame.octets, strict=True)
    return NewMessage(**said)
