"""Writing a record: in the transaction of the act, or after that of a refusal."""

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

LONGEST = 500  # characters of a name or a reason
MINUTE = timedelta(minutes=1)
OF_ONE = 20  # refusals of one actor from one host that are recorded in a minute
OF_ALL = 300  # and of all
FURTHER = "Further refusals are not recorded for a minute."


class Thing(NamedTuple):
    """What an act is about."""

    kind: str
    id: str | int = ""
    name: str = ""

    @classmethod
    def of(cls, one: Model) -> Thing:
        """One that is stored, under the words that people know it by."""
        return cls(str(one._meta.verbose_name), one.pk, str(one))


NOTHING = Thing("")


def record(  # all but two are keywords, and each stands in the record
    act: Act,
    on: Model | Thing = NOTHING,
    *,
    by: Any = None,
    reason: str = "",
    detail: Mapping[str, Any] | None = None,
    operation: int | None = None,
) -> None:
    """Write down an act that is done in this transaction.

    Args:
        act: what was done.
        on: to what.
        by: the principal for whom, where nobody said who acts (``acting``).
        reason: why, for people.
        detail: what else there is to know; whole numbers, texts, yes or no, and lists
            and mappings of them. Neither bodies nor secrets.
        operation: that it is about, or which it made.
    """
    write(current(by), act, on, Outcome.DONE, reason, detail or {}, operation)


def refuse(
    act: Act,
    on: Model | Thing = NOTHING,
    *,
    reason: str,
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Write down an attempt that was refused; not more than some a minute.

    Whoever calls has left the transaction of the attempt, which was undone.
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
    """A text that the database keeps as it is, and not longer than people read."""
    kept = text.replace("\0", "").encode(errors="replace").decode().strip()
    return kept if len(kept) <= LONGEST else f"{kept[: LONGEST - 1]}…"


def spelled(detail: Mapping[str, Any]) -> str:
    """JSON in one spelling: keys in order, no spaces, characters as they are."""
    text = json.dumps(detail, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace").decode().replace("\\u0000", "")
