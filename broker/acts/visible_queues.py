"""A queue that an act names: missing for those who may not see it."""

from __future__ import annotations

from broker.config.names import local_queue
from broker.errors import NoSuchQueue
from broker.models import Queue
from broker.security import authorities
from broker.security.authorities import GrantedAuthorities

# The authority to know that a queue exists.
SIGHT: authorities.Authority = "inquire"


def find_queue(held: GrantedAuthorities, name: str) -> Queue:
    """A queue by its name or alias.

    Raises:
        NoSuchQueue: it does not exist, or the actor may not inquire it.
    """
    found = local_queue(name)
    if not held.on(SIGHT, found.name):
        raise NoSuchQueue(name)
    return found
