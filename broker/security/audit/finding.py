"""Search audit records by actor, act, object, outcome and time; the newest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from broker.models import AuditRecord


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """A filter of audit records. A field that is empty or None does not restrict it.

    ``object`` is a name, or a kind with a name or number, such as ``queue:orders`` or
    ``operation:17``; ``queue:`` means all queues. ``act`` is one of ``Act``, or the
    part before its dot for all acts of that kind.
    """

    actor: str = ""
    act: str = ""
    object: str = ""
    outcome: str = ""
    since: datetime | None = None
    until: datetime | None = None
    operation: int | None = None

    def __bool__(self) -> bool:
        return self != AuditFilter()


def found(wanted: AuditFilter, *, before: int | None = None) -> QuerySet[AuditRecord]:
    """The records that match a filter, the newest first.

    Args:
        wanted: the filter.
        before: only records with lower ids, for the next page.
    """
    rows = AuditRecord.objects.order_by("-id")
    if before is not None:
        rows = rows.filter(pk__lt=before)
    if wanted.actor:
        rows = rows.filter(actor=wanted.actor)
    if wanted.act:
        is_one = "." in wanted.act
        of_kind = Q(act__startswith=f"{wanted.act}.")
        rows = rows.filter(Q(act=wanted.act) if is_one else of_kind)
    if wanted.outcome:
        rows = rows.filter(outcome=wanted.outcome)
    if wanted.operation is not None:
        rows = rows.filter(operation_id=wanted.operation)
    if wanted.since is not None:
        rows = rows.filter(at__gte=wanted.since)
    if wanted.until is not None:
        rows = rows.filter(at__lt=wanted.until)
    return about(rows, wanted.object) if wanted.object else rows


def about(rows: QuerySet[AuditRecord], said: str) -> QuerySet[AuditRecord]:
    """The records of one object: by kind and name or number, or by its name alone; with
    a kind alone, of all its objects."""
    named = rows.filter(object_name=said)
    kind, colon, rest = said.partition(":")
    if not colon:
        return named
    of_kind = rows.filter(object_kind=kind)
    if not rest:
        return of_kind
    return named | of_kind.filter(object_name=rest) | of_kind.filter(object_id=rest)
