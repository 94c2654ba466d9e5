"""Write audit records: in the transaction of the act, or after a refused attempt.

A caller declares the actor once for all acts in a block.
"""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Model, Q
from django.db.models.functions import Now

from broker.models import Act, AuditRecord, Credential

Kind, Outcome = AuditRecord.Actor, AuditRecord.Outcome

LONGEST = 500  # most characters of a name or a reason
MINUTE = timedelta(minutes=1)
OF_ONE = 20  # most refusals recorded in a minute of one actor from one host
OF_ALL = 300  # most refusals recorded in a minute of all actors
FURTHER = "Further refusals are not recorded for a minute."


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


class Thing(NamedTuple):
    """The object of an act."""

    kind: str
    id: str | int = ""
    name: str = ""

    @classmethod
    def of(cls, one: Model) -> Thing:
        """The object of an act from a stored object: its verbose name, id and text."""
        return cls(one._meta.verbose_name_raw, one.pk, str(one))


NOTHING = Thing("")


def record(  # all but two are keywords, and each is a field of the record
    act: Act,
    on: Model | Thing = NOTHING,
    *,
    by: Any = None,
    reason: str = "",
    detail: Mapping[str, Any] | None = None,
    operation: int | None = None,
) -> None:
    """Record an act of this transaction.

    Args:
        act: the act.
        on: the object.
        by: the principal, used if no actor is declared (``acting``).
        reason: the reason, as text.
        detail: further facts: whole numbers, texts, truth values, and lists and
            mappings of them. Neither bodies nor secrets.
        operation: the operation that the act concerns or created.
    """
    write(current(by), act, on, Outcome.DONE, reason, detail or {}, operation)


def refuse(
    act: Act,
    on: Model | Thing = NOTHING,
    *,
    reason: str,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Record a refused attempt; the number of records per minute is limited.

    Call it after the transaction of the attempt was rolled back.
    """
    actor = current()
    recent = AuditRecord.objects.filter(
        outcome=Outcome.REFUSED, at__gt=Now() - MINUTE
    ).aggregate(
        all=Count("pk"),
        own=Count("pk", filter=Q(actor=actor.name, source=actor.source)),
    )
    if recent["own"] >= OF_ONE or recent["all"] >= OF_ALL:
        return
    is_last = recent["own"] == OF_ONE - 1 or recent["all"] == OF_ALL - 1
    said = dict(detail or {}) | ({"further": FURTHER} if is_last else {})
    write(actor, act, on, Outcome.REFUSED, reason, said, None)


def write(  # noqa: PLR0913  # the record's fields
    actor: Actor,
    act: Act,
    on: Model | Thing,
    outcome: AuditRecord.Outcome,
    reason: str,
    detail: Mapping[str, Any],
    operation: int | None,
) -> None:
    thing = on if isinstance(on, Thing) else Thing.of(on)
    AuditRecord.objects.create(
        actor_kind=actor.kind,
        actor_id=actor.id,
        actor=plain(actor.name),
        source=plain(actor.source),
        act=act,
        object_kind=thing.kind,
        object_id=str(thing.id),
        object_name=plain(thing.name),
        outcome=outcome,
        reason=plain(reason),
        detail=spelled(detail),
        operation_id=operation,
    )


def plain(text: str) -> str:
    """A text cut to ``LONGEST``, without characters that the database would refuse."""
    kept = text.replace("\0", "").encode(errors="replace").decode().strip()
    return kept if len(kept) <= LONGEST else f"{kept[: LONGEST - 1]}…"


def spelled(detail: Mapping[str, Any]) -> str:
    """Canonical JSON: keys sorted, no spaces, no escapes of non-ASCII characters."""
    text = json.dumps(detail, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace").decode().replace("\\u0000", "")
