"""Set or remove the patch of a plan, for the page and the API."""

from __future__ import annotations

import time

from broker import operations
from broker.models import Operation
from broker.security import authorities
from broker.security.authorities import Principal
from console.operations import results
from console.operations.permissions import require_ways

# Messages checked before the page answers; the worker checks the rest.
AT_ONCE, AT_ONCE_S = 3, 1.0  # chunks, and seconds


def require(user: Principal, plan: Operation) -> None:
    """Require the authority to send these messages, and to read them: the tests of a
    patch reveal their content.

    Raises:
        NotAuthorized: an authority is missing; nothing is changed.
    """
    require_ways(user, plan, results.ledger_of(plan))
    require_reading(user, plan)


def require_reading(user: Principal, plan: Operation) -> None:
    """Require the authority to read these messages."""
    sources = results.ledger_of(plan).sources
    authorities.require(user, "browse", *(one or "#" for one in sources))


def give(user: Principal, plan: Operation, document: str) -> None:
    """Set the patch of a plan; a small set is checked at once."""
    operations.set_patch(plan.pk, document, by=user)
    ends = time.monotonic() + AT_ONCE_S
    for _ in range(AT_ONCE):
        if not operations.look(plan.pk) or time.monotonic() > ends:
            break
