"""What is stored: the map of addresses, the messages on it, and the journal."""

from __future__ import annotations

from broker.models.authorities import Authority
from broker.models.consumers import ConnectionConsumer, Stoppage
from broker.models.journal import Event, Kind, Place, Tally, Watermark
from broker.models.messages import (
    Claim,
    DeadLetter,
    Delayed,
    Discarded,
    Message,
    Owner,
    PreparedPut,
    Ready,
    UnitOfWork,
)
from broker.models.operations import CounterReset, Operation, OperationItem
from broker.models.queues import (
    Address,
    ModelQueue,
    Queue,
    QueueAlias,
    RoutingType,
    Subscription,
)
from broker.models.settings import AddressSetting

__all__ = [
    "Address",
    "AddressSetting",
    "Authority",
    "Claim",
    "ConnectionConsumer",
    "CounterReset",
    "DeadLetter",
    "Delayed",
    "Discarded",
    "Event",
    "Kind",
    "Message",
    "ModelQueue",
    "Operation",
    "OperationItem",
    "Owner",
    "Place",
    "PreparedPut",
    "Queue",
    "QueueAlias",
    "Ready",
    "RoutingType",
    "Stoppage",
    "Subscription",
    "Tally",
    "UnitOfWork",
    "Watermark",
]
