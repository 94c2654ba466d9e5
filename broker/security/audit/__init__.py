"""The audit log: who did what, when, to what, and why; refused attempts included.

A record is written in the transaction of its act, so neither exists without the other.
At commit the database adds it to a hash chain, and it does not delete records. A caller
of the broker declares the actor around all calls::

    with acting(lambda: Actor.of(user)):
        queue_pause.pause("orders", reason="the payment provider is down")

Records contain no message bodies and no secrets. ``docs/audit.md`` describes how to
verify an export independently.
"""

from __future__ import annotations

from broker.security.audit.chain import ChainFault, Head, check, last_check, verify
from broker.security.audit.differences import changes, state_of
from broker.security.audit.finding import AuditFilter, found
from broker.security.audit.records import (
    LONGEST,
    Actor,
    Thing,
    acting,
    is_acting,
    record,
    refuse,
)

__all__ = [
    "LONGEST",
    "Actor",
    "AuditFilter",
    "ChainFault",
    "Head",
    "Thing",
    "acting",
    "changes",
    "check",
    "found",
    "is_acting",
    "last_check",
    "record",
    "refuse",
    "state_of",
    "verify",
]
