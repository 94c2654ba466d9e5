"""Properties and annotations of a dead letter, for AMQP clients.

The broker writes it into the properties of a dead letter
(``broker.queueing.provenance``). It is sent as application properties with the same
names, as ActiveMQ Artemis sends it, and in annotations, which every client can read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from broker.amqp.messages.documents import amqp_value
from broker.amqp.protocol.types.types import Symbol
from broker.queueing.provenance import RESUBMITS, STALE

OURS = frozenset((*STALE, RESUBMITS, "_AMQ_ORIG_ADDRESS", "_AMQ_ORIG_MESSAGE_ID"))
ANNOTATIONS: Mapping[str, Symbol] = {
    "_BRK_DEATH_REASON": Symbol("x-opt-death-reason"),
    "_AMQ_ORIG_QUEUE": Symbol("x-opt-death-queue"),
    "_BRK_DEATH_COUNT": Symbol("x-opt-death-count"),
    "_BRK_DEATH_ERROR": Symbol("x-opt-death-info"),
}
ORIGINAL_EXPIRY = Symbol("x-opt-orig-expiry")


def written_by_us(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties written by the broker, as application properties."""
    return {
        name: amqp_value(value) for name, value in properties.items() if name in OURS
    }


def annotations_of(properties: Mapping[str, Any]) -> dict[Symbol, Any]:
    """The annotations of a dead letter; empty for other messages."""
    if "_BRK_DEATH_REASON" not in properties:
        return {}
    return {
        annotation: amqp_value(properties[name])
        for name, annotation in ANNOTATIONS.items()
        if name in properties
    }
