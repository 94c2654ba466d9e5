"""What permissions open.

A credential has its user's permissions only as far as they are of use to a machine;
what it may look at is a matter of its authorities alone, as over AMQP.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, User

from broker.security import authorities

CHANGE = "broker.resubmit_message"  # the permission to plan, start and undo
LOOK = ("broker.view_queue", "broker.browse_queue")


def may(user: User | AnonymousUser, permission: str) -> bool:
    """Whether a permission is had."""
    if authorities.credential_of(user) is None:
        return user.has_perm(permission)
    return permission in LOOK or (permission == CHANGE and user.has_perm(permission))
