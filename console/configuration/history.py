"""Who changed what in one object of Settings, by the audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Model
from django.urls import reverse

from broker.models import AuditRecord
from broker.security import audit
from console.configuration import words

MOST = 100  # the most records on a page: the newest


@dataclass(frozen=True, slots=True)
class ChangedField:
    """One field of a record, as texts; None where the object did not exist."""

    title: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class HistoryRecord:
    """One act on the object."""

    record: AuditRecord
    fields: Sequence[ChangedField]


def audit_url(model: type[Model], key: object) -> str:
    """The audit with every record of an object; with an empty key, of its kind."""
    return reverse("console:audit", query={"object": f"{kind_of(model)}:{key}"})


def kind_of(model: type[Model]) -> str:
    """The kind of an object as the audit has it: in English."""
    return model._meta.verbose_name_raw


def records(one: Model) -> list[HistoryRecord]:
    """The newest records of an object. One query, and one for each reference."""
    rows = audit.found(audit.AuditFilter(object=f"{kind_of(type(one))}:{one.pk}"))
    return [HistoryRecord(row, fields_of(row, type(one))) for row in rows[:MOST]]


def fields_of(row: AuditRecord, model: type[Model]) -> list[ChangedField]:
    changed = row.details.get("changed", {})
    return [
        ChangedField(
            words.title(model, name),
            *(
                words.value(model, name, both[word]) if word in both else None
                for word in ("before", "after")
            ),
        )
        for name, both in sorted(changed.items())
    ]
