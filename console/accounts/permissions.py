"""Permission checks of the console.

A credential has those of its user's permissions that programs need. Read access of a
credential depends on its authorities only, as over AMQP.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser

from broker.security import authorities
from broker.security.users import User

CHANGE = "broker.resubmit_message"  # the permission to plan, start and undo
AUDIT = "broker.view_auditrecord"
RESET = "broker.pause_queue"  # users who may pause a queue may reset its counters
LOOK = ("broker.view_queue", "broker.browse_queue")


def may(user: User | AnonymousUser, permission: str) -> bool:
    """Whether a user or credential has a permission."""
    if authorities.credential_of(user) is None:
        return user.has_perm(permission)
    return permission in LOOK or (permission == CHANGE and user.has_perm(permission))
