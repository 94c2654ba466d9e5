"""What a request names: an object is missing for those who may not see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from broker.alerts import sight
from broker.config.names import local_queue
from broker.errors import NoSuchQueue
from broker.errors.alerts import NoSuchAlert
from broker.models import AlertRule, AlertTarget, Queue
from broker.monitoring.visible_groups import parts_for
from broker.security import authorities
from broker.security.audit import Thing
from broker.security.authorities import GrantedAuthorities, Principal

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


def find_rule(name: str) -> AlertRule:
    """A rule of alerts.

    Raises:
        NoSuchAlert: it does not exist.
    """
    if found := AlertRule.objects.filter(name=name).first():
        return found
    raise NoSuchAlert("alert rule", name)


def find_target(name: str) -> AlertTarget:
    """A target of notifications.

    Raises:
        NoSuchAlert: it does not exist.
    """
    if found := AlertTarget.objects.filter(name=name).first():
        return found
    raise NoSuchAlert("alert target", name)


# Finds what a field names, or raises the error of what is missing.
Find = Callable[[Principal, GrantedAuthorities, Any], Any]
KINDS: Mapping[str, Find] = {
    "alert": sight.found,
    "alert rule": lambda _actor, _held, name: find_rule(name),
    "alert target": lambda _actor, _held, name: find_target(name),
    "group of dead letters": lambda _actor, held, name: parts_for(held, name),
    "queue": lambda _actor, held, name: find_queue(held, name),
    "silence": lambda _actor, held, number: sight.found_silence(held, number),
}


def name_subject(kind: str, value: Any) -> Thing:
    """The object of a refused attempt, whether or not it exists."""
    if isinstance(value, int):
        return Thing(kind, value, f"{kind} {value}")
    return Thing(kind, "", str(value))
