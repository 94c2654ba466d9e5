"""What is stored: the map of addresses, the messages on it, and the journal."""

from __future__ import annotations

from broker.models.journal import Event, Kind, Place, Tally, Watermark
from broker.models.messages import (
    Claim,
    DeadLetter,
    Delayed,
    Message,
    Owner,
    Ready,
    UnitOfWork,
)
from broker.models.operations import Operation, OperationItem
from broker.models.queues import Address, AddressSetting, Queue, RoutingType

__all__ = [
    "Address",
    "AddressSetting",
    "Claim",
    "DeadLetter",
    "Delayed",
    "Event",
    "Kind",
    "Message",
    "Operation",
    "OperationItem",
    "Owner",
    "Place",
    "Queue",
    "Ready",
    "RoutingType",
    "Tally",
    "UnitOfWork",
    "Watermark",
]
