"""Set or remove the patch of a plan, for the page and the API."""

from __future__ import annotations

import time

from broker import operations
from broker.models import Operation
from broker.security.authorities import Principal

# Messages checked before the page answers; the worker checks the rest.
AT_ONCE, AT_ONCE_S = 3, 1.0  # chunks, and seconds


def give(user: Principal, plan: Operation, document: str) -> None:
    """Set the patch of a plan; a small set is checked at once."""
    operations.set_patch(plan.pk, document, by=user)
    ends = time.monotonic() + AT_ONCE_S
    for _ in range(AT_ONCE):
        if not operations.look(plan.pk) or time.monotonic() > ends:
            break
