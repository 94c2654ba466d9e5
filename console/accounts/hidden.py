"""What somebody may not see answers as what is not there, with the same words.

A refusal that names a queue says that there is one. So it is told to those alone who
may inquire it; to all others it is a page, or a thing, that does not exist.
"""

from __future__ import annotations

from django.http import HttpRequest

from broker.errors import BrokerError, NoSuchQueue
from broker.errors.queues import NotAuthorized
from broker.security import authorities

SIGHT: authorities.Authority = "inquire"  # what it takes to know of a queue


def hides(request: HttpRequest, error: BrokerError) -> bool:
    """Whether a refusal is answered as if nothing were there.

    Args:
        request: what was asked for; of its URL, what is named there.
        error: why it is refused.
    """
    match = request.resolver_match
    named = set(match.kwargs.values()) if match else set()
    if isinstance(error, NoSuchQueue):
        return error.queue in named
    if not isinstance(error, NotAuthorized):
        return False
    if error.authority == SIGHT:
        return True
    return error.queue in named and not authorities.may(
        request.user, SIGHT, error.queue
    )
