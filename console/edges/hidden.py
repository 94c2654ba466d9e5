"""Answers 404 for objects that the user may not see, as if they did not exist.

A refusal that names a queue reveals that the queue exists. Only users with the
authority to inquire the queue get that refusal; all others get the usual 404 page or
problem.
"""

from __future__ import annotations

from django.http import HttpRequest

from broker.errors import BrokerError, NoSuchQueue
from broker.errors.operations import NoSuchOperation
from broker.errors.queues import NotAuthorized
from broker.security import authorities

SIGHT: authorities.Authority = "inquire"  # the authority to know that a queue exists


def hides(request: HttpRequest, error: BrokerError) -> bool:
    """Whether a refusal is answered with 404, as if the object did not exist.

    Args:
        request: the queues are those that its URL names.
        error: the refusal.
    """
    match = request.resolver_match
    named = set(match.kwargs.values()) if match else set()
    if isinstance(error, NoSuchOperation):
        return True
    if isinstance(error, NoSuchQueue):
        return error.queue in named
    if not isinstance(error, NotAuthorized):
        return False
    if error.authority == SIGHT:
        return True
    return error.queue in named and not authorities.may(
        request.user, SIGHT, error.queue
    )
