"""The audit: who did what, when, to what, and why; also what was tried and refused.

A record is written in the transaction of its act, so that there is neither without the
other. The database adds it to a chain of hashes as that transaction commits, and takes
nothing away again. Whoever calls the broker says who acts, around all that is done::

    with acting(lambda: Actor.of(user)):
        pausing.pause("orders", reason="the payment provider is down")

Nothing here holds a message's body, nor a secret. ``docs/audit.md`` says how somebody
else can verify what was exported.
"""

from __future__ import annotations

from broker.security.audit.actors import Actor, acting, is_acting
from broker.security.audit.chain import ChainFault, Head, check, last_check, verify
from broker.security.audit.differences import changes, state_of
from broker.security.audit.finding import AuditFilter, found
from broker.security.audit.records import LONGEST, Thing, record, refuse

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
