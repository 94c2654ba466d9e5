"""The audit: actions with their user, time, object and reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from broker.models import AuditRecord, Operation, Queue
from broker.security import audit as keeping
from console.audit import queries
from console.audit.queries import AuditFilterForm
from console.edges.permissions import AUDIT
from console.layout import pagination

PAGE = 50
MOST = 50_000  # records in one file
FILES = {
    "csv": ("text/csv", queries.as_table),
    "ndjson": ("application/x-ndjson", queries.as_lines),
}


@dataclass(frozen=True, slots=True)
class AuditedField:
    """One changed field; None where the object did not exist."""

    name: str
    before: Any
    after: Any


@require_safe
@permission_required(AUDIT, raise_exception=True)
def audit(request: HttpRequest) -> HttpResponse:
    """The records, the newest first; the filter is in the URL."""
    form = AuditFilterForm(request.GET)
    if not form.is_valid():
        return redirect("console:audit")
    wanted, page = form.criteria, pagination.Trail.of(request)
    rows = list(keeping.found(wanted, before=form.cleaned_data["after"])[: PAGE + 1])
    context = {
        "rows": rows[:PAGE],
        "wanted": wanted,
        "acts": queries.choices(),
        "outcomes": AuditRecord.Outcome.values,
        "checked": keeping.last_check(),
        "query": page.first.removeprefix("?"),
        "most": MOST,
        "page": page,
        "next": page.then(str(rows[PAGE - 1].pk)) if len(rows) > PAGE else None,
    }
    return render(request, "console/audit/audit.html", context)


@require_safe
@permission_required(AUDIT, raise_exception=True)
def record(request: HttpRequest, record_id: int) -> HttpResponse:
    """One record, with the values before and after."""
    one = get_object_or_404(AuditRecord, pk=min(record_id, pagination.LARGEST))
    detail = one.details
    changed = detail.pop("changed", {})
    fields = [
        AuditedField(
            name, write_value(both.get("before")), write_value(both.get("after"))
        )
        for name, both in sorted(changed.items())
    ]
    context = {
        "one": one,
        "fields": fields,
        "pairs": [(name, write_value(value)) for name, value in sorted(detail.items())],
        "is_operation_known": is_known(Operation, one.operation_id),
        "is_queue_known": one.object_kind == "queue"
        and Queue.objects.filter(name=one.object_name).exists(),
    }
    return render(request, "console/audit/record.html", context)


@require_safe
@permission_required(AUDIT, raise_exception=True)
def export(request: HttpRequest) -> HttpResponse:
    """The same records as a file, the newest first."""
    form = AuditFilterForm(request.GET)
    kind = request.GET.get("format", "csv")
    if not form.is_valid() or kind not in FILES:
        return redirect("console:audit")
    rows = keeping.found(form.criteria, before=form.cleaned_data["after"])[:MOST]
    return file_of(kind, rows.iterator())


def file_of(kind: str, rows: Iterable[AuditRecord]) -> HttpResponse:
    content_type, write = FILES[kind]
    answer = HttpResponse(write(rows), content_type=f"{content_type}; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="audit.{kind}"'
    return answer


def write_value(value: Any) -> str | None:
    """A value of a record as text; None if there is none."""
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, dict):
        return ", ".join(f"{name}: {write_value(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(str(write_value(one)) for one in value) or gettext("none")
    return None if value is None else str(value)


def is_known(model: type[Operation], key: int | None) -> bool:
    return key is not None and model.objects.filter(pk=key).exists()
