"""Recurring messages as far as a user may see them."""

from __future__ import annotations

from broker.models import RecurringMessage
from broker.security import authorities


def visible_recurring(user: authorities.Principal) -> list[RecurringMessage]:
    """Recurring messages whose addresses the user may inquire, by name."""
    held = authorities.held_by(user)
    every = RecurringMessage.objects.all()
    return [one for one in every if held.on("inquire", one.address)]
