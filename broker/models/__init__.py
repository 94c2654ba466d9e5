"""The tables: addresses and queues, messages, the journal, operations, bridges."""

from __future__ import annotations

from broker.models.alerts import (
    Alert,
    AlertEvent,
    AlertNotice,
    AlertRule,
    AlertSilence,
    AlertTarget,
)
from broker.models.answers import StoredResponse
from broker.models.approvals import Approval
from broker.models.audit import Act, AuditCheck, AuditRecord
from broker.models.authorities import Authority
from broker.models.bridges import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
)
from broker.models.clients import (
    Binding,
    ClientConnection,
    ClientEndpoint,
    Credential,
    Subscription,
)
from broker.models.consumers import ConnectionConsumer, HandlerLimit, Stoppage
from broker.models.groups import DeadLetterGroup
from broker.models.journal import Event, Held, Kind, Place, Tally, Watermark
from broker.models.links import BridgeProcess, Link, LinkState, LinkStatus
from broker.models.messages import (
    Annotations,
    Claim,
    DeadLetter,
    Delayed,
    Discarded,
    Message,
    Owner,
    PreparedPut,
    Ready,
    Returned,
    UnitOfWork,
)
from broker.models.operations import CounterReset, Operation, OperationItem
from broker.models.patches import OperationPatch
from broker.models.progress import Experience, OperationSchedule
from broker.models.queues import (
    Address,
    CountsWhenLost,
    ModelQueue,
    Queue,
    QueueAlias,
    RoutingType,
)
from broker.models.recurring import RecurringMessage
from broker.models.redaction import RedactionRule
from broker.models.rules import RuleAttempt, RulePass, RuleTable
from broker.models.samples import HistorySample, HistoryTotals
from broker.models.settings import AddressSetting
from broker.models.transfers import Branch, TransferredMessage

__all__ = [
    "Act",
    "Address",
    "AddressSetting",
    "Alert",
    "AlertEvent",
    "AlertNotice",
    "AlertRule",
    "AlertSilence",
    "AlertTarget",
    "Annotations",
    "Approval",
    "AuditCheck",
    "AuditRecord",
    "Authority",
    "Binding",
    "Branch",
    "Bridge",
    "BridgeDestination",
    "BridgeProcess",
    "Claim",
    "ClientConnection",
    "ClientEndpoint",
    "ConnectionConsumer",
    "ConnectionFactory",
    "CounterReset",
    "CountsWhenLost",
    "Credential",
    "DeadLetter",
    "DeadLetterGroup",
    "DeadMessageQueue",
    "Delayed",
    "Discarded",
    "Event",
    "Experience",
    "HandlerLimit",
    "Held",
    "HistorySample",
    "HistoryTotals",
    "Kind",
    "Link",
    "LinkState",
    "LinkStatus",
    "Message",
    "ModelQueue",
    "Operation",
    "OperationItem",
    "OperationPatch",
    "OperationSchedule",
    "Owner",
    "Place",
    "PreparedPut",
    "Queue",
    "QueueAlias",
    "Ready",
    "RecurringMessage",
    "RedactionRule",
    "Returned",
    "RoutingType",
    "RuleAttempt",
    "RulePass",
    "RuleTable",
    "Stoppage",
    "StoredResponse",
    "Subscription",
    "Tally",
    "TransferredMessage",
    "UnitOfWork",
    "Watermark",
]
