"""The query of the audit page and export, from a URL; records as files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import Any

from django import forms
from django.utils.translation import gettext_noop

from broker.models import Act, AuditRecord
from broker.security.audit import AuditFilter
from console.audit.records import record_of
from dashboards.pages.csv_safety import harmless

KINDS = {  # titles by the part of an act before its dot
    "operation": gettext_noop("Operations"),
    "queue": gettext_noop("Queues"),
    "message": gettext_noop("Discard bin"),
    "connection": gettext_noop("Connections"),
    "endpoint": gettext_noop("Endpoints"),
    "credential": gettext_noop("Credentials"),
    "link": gettext_noop("Links of bridges"),
    "prepared": gettext_noop("Prepared units of work"),
    "settings": gettext_noop("Settings"),
    "account": gettext_noop("Accounts and signing in"),
    "report": gettext_noop("Reports"),
    "demo": gettext_noop("Samples"),
    "page": gettext_noop("Denied pages"),
}
COLUMNS = (
    *("number", "at", "actor_kind", "actor_id", "actor", "source", "act"),
    *("object_kind", "object_id", "object_name", "outcome", "reason", "detail"),
    *("operation_id", "hash"),
)


class AuditFilterForm(forms.Form):
    """The filter of the page, in its URL."""

    actor = forms.CharField(max_length=500, required=False)
    act = forms.CharField(max_length=100, required=False)
    object = forms.CharField(max_length=500, required=False)
    outcome = forms.ChoiceField(choices=AuditRecord.Outcome.choices, required=False)
    since = forms.DateTimeField(required=False)
    until = forms.DateTimeField(required=False)
    operation = forms.IntegerField(min_value=0, max_value=2**63 - 1, required=False)
    after = forms.IntegerField(min_value=0, max_value=2**63 - 1, required=False)

    @property
    def criteria(self) -> AuditFilter:
        said = self.cleaned_data
        return AuditFilter(
            **{name: said[name] for name in AuditFilter.__dataclass_fields__}
        )


def choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Actions by kind, for a selection list."""
    every: dict[str, list[tuple[str, str]]] = {kind: [] for kind in KINDS}
    for act in Act:
        every.setdefault(act.split(".")[0], []).append((act.value, str(act.label)))
    return [(KINDS.get(kind, kind.capitalize()), acts) for kind, acts in every.items()]


def record_document(one: AuditRecord) -> dict[str, Any]:
    """A record of a file; its hash can be verified from this."""
    record = record_of(one)
    return {name: getattr(record, name) for name in COLUMNS}


def as_lines(records: Iterable[AuditRecord]) -> str:
    """NDJSON: one record a line."""
    return "".join(
        json.dumps(record_document(one), ensure_ascii=False, separators=(",", ":"))
        + "\n"
        for one in records
    )


def as_table(records: Iterable[AuditRecord]) -> str:
    """CSV. A text that a spreadsheet would read as a formula gets a leading quote."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow(COLUMNS)
    for one in records:
        values = record_document(one) | {"detail": one.detail}
        table.writerow([harmless(values[name]) for name in COLUMNS])
    return text.getvalue()
