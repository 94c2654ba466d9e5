"""Write audit records: in the transaction of the act, or after a refused attempt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Model, Q
from django.db.models.functions import Now

from broker.models import Act, AuditRecord
from broker.security.audit.actors import Actor, current

Outcome = AuditRecord.Outcome

LONGEST = 500  # most characters of a name or a reason
MINUTE = timedelta(minutes=1)
OF_ONE = 20  # most refusals recorded in a minute of one actor from one host
OF_ALL = 300  # most refusals recorded in a minute of all actors
FURTHER = "Further refusals are not recorded for a minute."


class Thing(NamedTuple):
    """The object of an act."""

    kind: str
    id: str | int = ""
    name: str = ""

    @classmethod
    def of(cls, one: Model) -> Thing:
        """The object of an act from a stored object: its verbose name, id and text."""
        return cls(str(one._meta.verbose_name), one.pk, str(one))


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
        act: what was done.
        on: the object.
        by: the principal, used if no actor is declared (``acting``).
        reason: why, as text.
        detail: further facts: whole numbers, texts, truth values, and lists and
            mappings of them. Neither bodies nor secrets.
        operation: the operation it is about, or which it created.
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
