"""Permissions: what kinds of acts a user may order; Django keeps them.

A credential has those of its user's permissions that programs need. Read access of a
credential depends on its authorities only, as over AMQP.
"""

from __future__ import annotations

from broker.errors.acts import NotPermitted
from broker.security import authorities
from broker.security.authorities import Principal

CHANGE = "broker.resubmit_message"  # permission to plan, start and undo operations
LOOK = ("broker.view_queue", "broker.browse_queue")


def may(actor: Principal, permission: str) -> bool:
    """Whether a user or credential has a permission; None, the process itself, has."""
    if actor is None:
        return True
    has: bool = actor.has_perm(permission)  # type: ignore[union-attr]
    if authorities.credential_of(actor) is None:
        return has
    return permission in LOOK or (permission == CHANGE and has)


def require(actor: Principal, permission: str) -> None:
    """Refuse an actor without a permission.

    Raises:
        NotPermitted: it is missing.
    """
    if not may(actor, permission):
        raise NotPermitted(permission)
