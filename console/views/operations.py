"""Operations: planned on a frozen set, started, watched, and kept as a record."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.decorators import permission_required
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import BadRequest
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from django_htmx.middleware import HtmxDetails

from broker import authorities
from broker import operations as orders
from broker.models import Operation, OperationItem
from console import cursors, ledgers
from console.selections import PageForm, PlanForm, in_words, seen_by

PAGE = 20  # operations; the items of each are counted
ITEMS = 50
State, Status = Operation.State, OperationItem.Status


class HtmxRequest(HttpRequest):
    htmx: HtmxDetails


class StartForm(forms.Form):
    reason = forms.CharField(
        max_length=500,
        error_messages={
            "required": "Say why. Whoever looks at this operation later will read it."
        },
    )


class ItemsForm(PageForm):
    """Which of an operation's items to show."""

    status = forms.ChoiceField(choices=Status.choices, required=False)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def operations(request: HttpRequest) -> HttpResponse:
    """All operations, the newest first."""
    form = PageForm(request.GET)
    if not form.is_valid():
        return redirect("console:operations")
    every = Operation.objects.select_related("created_by").order_by("-pk")
    if after := form.cleaned_data["after"]:
        every = every.filter(pk__lt=after)
    found, next_page = cut(request, every, PAGE)
    context = {
        "rows": list(zip(found, ledgers.counts_of(found), strict=True)),
        "page": cursors.Trail.of(request),
        "next": next_page,
    }
    return render(request, "console/operations/operations.html", context)


@require_safe
@vary_on_headers("HX-Request")
@permission_required("broker.view_queue", raise_exception=True)
def operation(request: HtmxRequest, operation_id: int) -> HttpResponse:
    """The plan of an operation, its progress or its result, and its items."""
    return shown(request, operation_id, StartForm())


@require_POST
@permission_required("broker.resubmit_message", raise_exception=True)
@transaction.atomic
def plan_resubmit(request: HttpRequest) -> HttpResponse:
    """Freeze what is to be resubmitted, of what is seen, and show the plan."""
    form = PlanForm(request.POST)
    if not form.is_valid():
        raise BadRequest("This is no set of dead letters.")
    one = form.cleaned_data["message"]
    scope = f"message {one}" if one else in_words(form.selection)
    seen = seen_by(request.user, form.selection)
    planned = orders.plan_resubmit(request.user, scope, seen, message_id=one)
    require_ways(request.user, planned)
    return redirect("console:operation", planned.pk)


@require_POST
@permission_required("broker.resubmit_message", raise_exception=True)
@transaction.atomic
def start(request: HtmxRequest, operation_id: int) -> HttpResponse:
    """Begin a planned operation; a large one needs a reason."""
    planned = get_object_or_404(Operation, pk=operation_id)
    form = StartForm(request.POST)
    form.fields["reason"].required = planned.items.count() > ledgers.ASKS_WHY
    if not form.is_valid():
        return shown(request, operation_id, form, status=422)
    reason = form.cleaned_data["reason"]
    Operation.objects.filter(pk=operation_id, state=State.PLANNED).update(reason=reason)
    require_ways(request.user, planned)
    orders.start(operation_id)
    record(request, planned, "started it")
    return redirect("console:operation", operation_id)


@require_POST
@permission_required("broker.resubmit_message", raise_exception=True)
@transaction.atomic
def cancel(request: HttpRequest, operation_id: int) -> HttpResponse:
    """End an operation where it is; of a plan, nothing is done."""
    found = get_object_or_404(Operation, pk=operation_id)
    orders.cancel(operation_id)
    record(request, found, "cancelled it")
    if found.state != State.PLANNED:
        return redirect("console:operation", operation_id)
    messages.info(request, f"Nothing was done. Operation {operation_id} is cancelled.")
    return redirect("console:dead_letters")


def require_ways(user: authorities.Principal, planned: Operation) -> None:
    """Go on only if a person may take messages from where an operation finds them, and
    send them to where it brings them.

    Raises:
        NotAuthorized: nothing of what is planned is done.
    """
    ways = ledgers.ledger_of(planned).ways
    authorities.require(user, "get", *(way.on for way in ways))
    authorities.require(user, "put", *(way.to for way in ways))


def shown(
    request: HtmxRequest, operation_id: int, start_form: StartForm, status: int = 200
) -> HttpResponse:
    """An operation as a page, or as the part of it that changes while it runs."""
    found = get_object_or_404(
        Operation.objects.select_related("created_by"), pk=operation_id
    )
    ledger = ledgers.ledger_of(found)
    is_planned = found.state == State.PLANNED
    context: dict[str, Any] = {
        "operation": found,
        "ledger": ledger,
        "left": ledger.left(found.started_at),
        "warnings": list(ledgers.warnings_of(found, ledger)) if is_planned else [],
        "aftermath": None if is_planned else ledgers.aftermath_of(found),
        "history": history_of(found),
        "start_form": start_form,
        **items_of(request, found, ledger),
    }
    name = "_operation" if request.htmx else "operation"
    return render(request, f"console/operations/{name}.html", context, status=status)


def items_of(
    request: HttpRequest, found: Operation, ledger: ledgers.Ledger
) -> dict[str, Any]:
    """A page of an operation's items, in the order in which they are worked on."""
    form = ItemsForm(request.GET)
    said = form.cleaned_data if form.is_valid() else {"status": "", "after": None}
    items = found.items.order_by("pk")
    if said["status"]:
        items = items.filter(status=said["status"])
    if said["after"]:
        items = items.filter(pk__gt=said["after"])
    part, next_page = cut(request, items, ITEMS)
    return {
        "items": [(item, ledger.names.get(item.queue_id, "")) for item in part],
        "status": said["status"],
        "page": cursors.Trail.of(request),
        "next": next_page,
    }


def cut(
    request: HttpRequest, rows: QuerySet[Any], length: int
) -> tuple[list[Any], str | None]:
    """One page of rows, and the query of the next page if there is one."""
    found = list(rows[: length + 1])
    if len(found) <= length:
        return found, None
    return found[:length], cursors.Trail.of(request).then(str(found[length - 1].pk))


def record(request: HttpRequest, what: Operation, words: str) -> None:
    """Write down who did it, after their name; the operation itself says what."""
    assert request.user.pk is not None, "permissions were asked for"
    LogEntry.objects.log_actions(
        request.user.pk, [what], CHANGE, words, single_object=True
    )


def history_of(found: Operation) -> QuerySet[LogEntry]:
    kind = ContentType.objects.get_for_model(Operation)
    return (
        LogEntry.objects.filter(content_type=kind, object_id=str(found.pk))
        .select_related("user")
        .order_by("pk")
    )
