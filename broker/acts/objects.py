"""What a request names: an object is missing for those who may not see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker.config.names import local_queue
from broker.errors import NoSuchQueue
from broker.models import Queue
from broker.security import authorities
from broker.security.audit import Thing
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


Find = Callable[[GrantedAuthorities, Any], Any]
KINDS: Mapping[str, Find] = {"queue": find_queue}


def name_subject(kind: str, value: Any) -> Thing:
    """The object of a refused attempt, whether or not it exists."""
    return Thing(kind, "", str(value))
