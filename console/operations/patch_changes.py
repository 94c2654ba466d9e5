"""Give a planned repair its patch, or take it away, for the page and the API."""

from __future__ import annotations

import time

from django.http import HttpRequest

from broker import operations
from broker.models import Operation
from broker.security import authorities
from console.operations import results
from console.operations.permissions import require_ways

# What is looked at before the page answers; the worker has the rest.
AT_ONCE, AT_ONCE_S = 3, 1.0  # chunks, and for how long


def require(request: HttpRequest, plan: Operation) -> None:
    """Go on only if a person may send these messages, and read them: what a patch
    tests for tells what is in them.

    Raises:
        NotAuthorized: nothing is changed.
    """
    require_ways(request.user, plan, results.ledger_of(plan))
    require_reading(request, plan)


def require_reading(request: HttpRequest, plan: Operation) -> None:
    """The same of who only looks."""
    sources = results.ledger_of(plan).sources
    authorities.require(request.user, "browse", *(one or "#" for one in sources))


def give(request: HttpRequest, plan: Operation, document: str) -> None:
    """Give a plan a patch; of a small set it is known then what it would change."""
    operations.set_patch(plan.pk, document, by=request.user)
    ends = time.monotonic() + AT_ONCE_S
    for _ in range(AT_ONCE):
        if not operations.look(plan.pk) or time.monotonic() > ends:
            break


def drop(request: HttpRequest, plan: Operation) -> None:
    operations.drop_patch(plan.pk)
