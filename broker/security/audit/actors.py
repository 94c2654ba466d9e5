"""The actor of audit records. A caller declares the actor once for all acts in a
block."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

from broker.models import AuditRecord, Credential

Kind = AuditRecord.Actor


@dataclass(frozen=True, slots=True)
class Actor:
    """A user, an application or a process; its name stays valid after a deletion."""

    kind: AuditRecord.Actor
    name: str = ""
    id: int | None = None
    source: str = ""  # host of the client

    @classmethod
    def of(cls, principal: Any, source: str = "") -> Actor:
        """The actor for a user, signed in or not, or for a credential."""
        if isinstance(principal, Credential):
            return cls(Kind.CREDENTIAL, principal.name, principal.pk, source)
        if principal is None or principal.pk is None:
            return cls(Kind.NOBODY, source=source)
        return cls(Kind.USER, principal.get_username(), principal.pk, source)

    @classmethod
    def of_process(cls) -> Actor:
        """The actor for a command: the operating system's user of this process."""
        try:
            name = getpass.getuser()
        except (KeyError, OSError):  # a user number without a name
            name = ""
        return cls(Kind.SYSTEM, name)


asked: ContextVar[Callable[[], Actor] | None] = ContextVar("asked", default=None)


@contextmanager
def acting(who: Callable[[], Actor]) -> Iterator[None]:
    """Declare the actor of all acts in this block.

    Args:
        who: a function called for each record, because the user may be known only
            later.
    """
    token = asked.set(who)
    try:
        yield
    finally:
        asked.reset(token)


def is_acting() -> bool:
    """Whether an actor is declared."""
    return asked.get() is not None


def current(by: Any = None) -> Actor:
    """The present actor.

    Args:
        by: the principal, used if no actor is declared.
    """
    who = asked.get()
    if who is not None:
        actor = who()
        is_known = actor.kind != Kind.NOBODY or by is None
        return actor if is_known else replace(Actor.of(by), source=actor.source)
    return Actor.of_process() if by is None else Actor.of(by)
