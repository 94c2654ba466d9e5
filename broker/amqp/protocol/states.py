"""Delivery states, including outcomes and those of transactions.

Source: AMQP 1.0, part 3, section 3.4, and part 4, section 4.5.
"""

from __future__ import annotations

from typing import Any

from broker.amqp.protocol.conditions import Error
from broker.amqp.protocol.types.composites import composite, nested, register
from broker.amqp.protocol.types.field_types import KINDS

register(Error, 0x1D, "error", "symbol string fields")


@composite(0x23, "received", "uint ulong")
class Received:
    """Progress of an incomplete delivery; not an outcome."""

    section_number: int
    section_offset: int


@composite(0x24, "accepted")
class Accepted:
    pass


@composite(0x25, "rejected", "error")
class Rejected:
    error: Error | None = None


@composite(0x26, "released")
class Released:
    pass


@composite(0x27, "modified", "boolean boolean fields")
class Modified:
    delivery_failed: bool | None = None
    undeliverable_here: bool | None = None
    message_annotations: dict[Any, Any] | None = None


Outcome = Accepted | Rejected | Released | Modified

KINDS["outcome"] = nested(Accepted, Rejected, Released, Modified)


@composite(0x31, "declare", "any")
class Declare:
    global_id: Any = None


@composite(0x32, "discharge", "binary boolean")
class Discharge:
    txn_id: bytes
    fail: bool | None = None


@composite(0x33, "declared", "binary")
class Declared:
    txn_id: bytes


@composite(0x34, "transactional-state", "binary outcome")
class TransactionalState:
    txn_id: bytes
    outcome: Outcome | None = None


DeliveryState = (
    Received | Accepted | Rejected | Released | Modified | Declared | TransactionalState
)

KINDS["state"] = nested(
    Received, Accepted, Rejected, Released, Modified, Declared, TransactionalState
)
