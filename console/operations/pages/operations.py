"""Operations: start, progress, cancel, undo, and the list of all."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from django_htmx.middleware import HtmxDetails

from broker import acts
from broker import operations as orders
from broker.acts.operations.control import (
    CancelOperation,
    ScheduleOperation,
    StartOperation,
)
from broker.acts.operations.ledgers import Ledger, ledger_of, way_of
from broker.acts.operations.rights import require_sight, visible_operations
from broker.acts.operations.states import left_out, schedule_of
from broker.errors.operations import InvalidStart
from broker.models import Operation, OperationItem, OperationPatch, OperationSchedule
from broker.monitoring.numbers import public_numbers
from broker.operations import canary as canaries
from broker.operations import copy_outcomes, rate_limit
from broker.operations.approvals import is_hard
from console.audit import history
from console.edges.web.forms import ReadField
from console.layout import pagination
from console.messages.dead_letter_query import PageForm
from console.operations import (
    approvals,
    live_progress,
    progress,
    results,
    warnings,
    wording,
)
from console.operations.patch_form import PatchForm
from console.operations.patch_panel import may_repeat, part_of, rest_of

PAGE = 20  # operations on a page; few, because the items of each are counted
ITEMS = 50
LOOKED_AT = 5000  # messages; the outlook of a larger plan is shown only on request
State, Status = Operation.State, OperationItem.Status


class HtmxRequest(HttpRequest):
    htmx: HtmxDetails


class StartForm(forms.Form):
    """The time, the reason, the pace and the trial; empty: at once, no limit of the
    pace, and no trial."""

    start_at = ReadField(datetime, required=False)

    pace = forms.IntegerField(
        min_value=1,
        max_value=rate_limit.FASTEST,
        required=False,
        error_messages={"invalid": gettext_lazy("Give a number, or nothing.")},
    )
    canary = forms.IntegerField(
        min_value=0,
        max_value=canaries.WATCHED,
        required=False,
        error_messages={"invalid": gettext_lazy("Give a number, or 0 for none.")},
    )
    reason = forms.CharField(
        max_length=500,
        error_messages={
            "required": gettext_lazy(
                "Say why. Whoever looks at this operation later will read it."
            )
        },
    )
    typed = forms.CharField(max_length=255, required=False)

    def __init__(self, said: Any = None, to_type: str = "") -> None:
        super().__init__(said)
        self.to_type = to_type

    def clean_typed(self) -> str:
        typed: str = self.cleaned_data["typed"]
        if typed != self.to_type and self.to_type:
            text = gettext(
                "This does not say %(text)s. Type it exactly as it is shown."
            )
            raise forms.ValidationError(text % {"text": self.to_type})
        return typed


class ItemsForm(PageForm):
    """Which of an operation's items to show."""

    status = forms.ChoiceField(choices=Status.choices, required=False)


NO_CHOICE = {"status": "", "after": None}


class GivenForm(forms.Form):
    """Whether a patch is to be written for the plan, and the operation whose patch is
    to be changed and used again."""

    repair = forms.BooleanField(required=False)
    patch = forms.IntegerField(min_value=1, max_value=2**63 - 1, required=False)


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def operations(request: HttpRequest) -> HttpResponse:
    """The operations that the user may see, the newest first."""
    form = PageForm(request.GET)
    if not form.is_valid():
        return redirect("console:operations")
    people = ("created_by", "undone_by", "approval", "schedule")
    every = visible_operations(request.user).select_related(*people)
    every = every.order_by("-pk")
    if after := form.cleaned_data["after"]:
        every = every.filter(pk__lt=after)
    found, next_page = cut(request, every, PAGE)
    context = {
        "rows": results.rows_of(found),
        "page": pagination.Trail.of(request),
        "next": next_page,
    }
    return render(request, "console/operations/operations.html", context)


@require_safe
@vary_on_headers("HX-Request")
@permission_required("broker.view_queue", raise_exception=True)
def operation(request: HtmxRequest, operation_id: int) -> HttpResponse:
    """One operation: its plan, its progress or result, and its items."""
    return render_operation(request, operation_id)


@require_POST
def start(request: HtmxRequest, operation_id: int) -> HttpResponse:
    """Start a planned operation, at once or later; a large one, or one that may drop
    messages, needs a reason."""
    acts.require(request.user, StartOperation(operation_id))
    planned, ledger = visible_operation(request, operation_id)
    form = StartForm(request.POST, results.to_type(planned, ledger))
    asks_why = approvals.asks_why(planned, ledger) and not planned.reason
    form.fields["reason"].required = asks_why
    if not (form.is_valid() and order(request, operation_id, form)):
        return render_operation(request, operation_id, form, status=422)
    return redirect("console:operation", operation_id)


def order(request: HttpRequest, operation_id: int, form: StartForm) -> bool:
    """Start the plan, or set its time; return False if that time is refused, which the
    form then says."""
    said = form.cleaned_data
    how: dict[str, Any] = {name: said[name] or 0 for name in ("pace", "canary")}
    how["reason"] = said["reason"]
    if not said["start_at"]:
        acts.act(request.user, StartOperation(operation_id, **how))
        return True
    asked = ScheduleOperation(operation_id, start_at=said["start_at"], **how)
    try:
        acts.act(request.user, asked)
    except InvalidStart as error:
        form.add_error("start_at", str(error))
        return False
    return True


@require_POST
def cancel(request: HttpRequest, operation_id: int) -> HttpResponse:
    """Cancel an operation. A cancelled plan does nothing."""
    answer = acts.act(request.user, CancelOperation(operation_id))
    if answer.started_at:
        return redirect("console:operation", operation_id)
    text = gettext("Nothing was done. Operation %(number)s is cancelled.")
    messages.info(request, text % {"number": operation_id})
    return redirect(whence(*visible_operation(request, operation_id)))


def whence(found: Operation, ledger: Ledger) -> str:
    """The page on which the plan was made."""
    if found.undoes_id:
        return reverse("console:operation", args=[found.undoes_id])
    if found.kind == Operation.Kind.RESUBMIT:
        return reverse("console:dead_letters")
    names = {way.on for way in ledger.ways}
    if len(names) == 1 and all(names):
        return reverse("console:queue", args=[*names])
    return reverse("console:operations")


def visible_operation(
    request: HttpRequest, operation_id: int, *about: str
) -> tuple[Operation, Ledger]:
    """An operation that the user may see, with its queues.

    Raises:
        Http404, NotAuthorized: the operation does not exist, or is hidden from the
            user; the answer is the same.
    """
    every = Operation.objects.select_related(*about)
    found = get_object_or_404(every, pk=operation_id)
    ledger = ledger_of(found)
    require_sight(request.user, ledger)
    return found, ledger


def render_operation(
    request: HtmxRequest,
    operation_id: int,
    start_form: StartForm | None = None,
    status: int = 200,
    patch_form: PatchForm | None = None,
) -> HttpResponse:
    """An operation as a page, or only the part that changes while it runs."""
    people = ("created_by", "approval__approved_by", "schedule__start_by")
    about = (*people, "undoes", "undone_by")
    found, ledger = visible_operation(request, operation_id, *about)
    schedule = schedule_of(found)
    given = patch_form or given_patch(request)
    repair = part_of(request.user, found, ledger, given)
    context: dict[str, Any] = {
        "operation": found,
        "row": results.row_of(found, ledger),
        "ledger": ledger,
        "said": results.describe_operation(found, ledger),
        "schedule": schedule,
        "fastest": rate_limit.FASTEST,
        "asks_why": approvals.asks_why(found, ledger),
        "is_hard": is_hard(found),
        "history": history.of_operation(found),
        "start_form": start_form or StartForm(None, results.to_type(found, ledger)),
        "repair": repair,
        "is_patch_given": given is not None and found.state == State.PLANNED,
        "rest": rest_of(found, ledger, schedule),
        "may_repeat": may_repeat(found),
        "turn": live_progress.turn_of(
            found, ledger, schedule, is_looking=bool(repair and repair.is_looking)
        ),
        **ahead_of(request, found, ledger, schedule),
        **items_of(request, found, ledger),
    }
    if goes_on(context):
        context["topic"] = f"operation={operation_id}"
    name = "_operation" if request.htmx else "operation"
    return render(request, f"console/operations/{name}.html", context, status=status)


def given_patch(request: HtmxRequest) -> PatchForm | None:
    """The form that the query asks for, open: empty, or with the patch of the operation
    that it names."""
    form = GivenForm(request.GET)
    if not form.is_valid():
        return None
    patch = None
    if number := form.cleaned_data["patch"]:
        visible_operation(request, number)
        patch = OperationPatch.objects.filter(pk=number).first()
    elif not form.cleaned_data["repair"]:
        return None
    return PatchForm(document=patch.document if patch else "", is_open=True)


def goes_on(context: dict[str, Any]) -> bool:
    """Whether the state of an operation changes without an action of a user."""
    found, schedule = context["operation"], context["schedule"]
    if found.state == State.RUNNING or (
        found.state == State.PLANNED and schedule.start_at
    ):
        return True
    copies, repair = context.get("copies"), context["repair"]
    is_open = copies is not None and copies.waiting > 0
    return is_open or (repair is not None and repair.is_looking)


def ahead_of(
    request: HttpRequest, found: Operation, ledger: Ledger, schedule: OperationSchedule
) -> dict[str, Any]:
    """The expected result of a plan; of a started operation, the outcomes so far.

    For a large plan it is computed only on request, except for kinds that may drop
    messages: whether they would is always shown.
    """
    if found.state != State.PLANNED:
        return live_progress.since(found, ledger, schedule)
    looks = ledger.total <= LOOKED_AT or found.kind in wording.ADDRESSES
    looks = looks or "look" in request.GET
    seen = orders.preview(found.pk) if looks else None
    # Without a stored number of canaries, the form has the usual one.
    schedule.canaries = schedule.canaries or orders.usual_canary(found, ledger.goals)
    return {
        "stages": list(progress.stages_of(found, schedule, ledger, None)),
        "undo_window": settings.BROKER_UNDO_WINDOW_S,
        "consent": approvals.consent_to(found, request.user, ledger.on),
        "said": results.describe_operation(found, ledger, seen),
        "has_nothing_left": bool(ledger.planned and seen and not seen.will_go),
        "outlook": None if seen is None else wording.outlook(found, seen),
        "warnings": list(warnings.warnings_of(found, ledger, seen, request.user)),
        "left_out": left_out(ledger),
        "experience": warnings.experience_of(found, ledger),
        "may_try": copy_outcomes.follows(found),
        "most_canaries": canaries.WATCHED,
    }


def items_of(request: HttpRequest, found: Operation, ledger: Ledger) -> dict[str, Any]:
    """A page of an operation's items, in the order of work."""
    form = ItemsForm(request.GET)
    said: dict[str, Any] = form.cleaned_data if form.is_valid() else NO_CHOICE
    every = results.items_after(found, said["status"], said["after"], ITEMS + 1)
    part, next_page = cut(request, every, ITEMS)
    return {
        "items": [
            (
                item,
                way_of(found, ledger.names.get(item.queue_id, ""), item.target),
            )
            for item in part
        ],
        "numbers": public_numbers(item.message_id for item in part),
        "status": said["status"],
        "page": pagination.Trail.of(request),
        "next": next_page,
    }


def cut(
    request: HttpRequest, rows: QuerySet[Any] | list[Any], length: int
) -> tuple[list[Any], str | None]:
    """One page of rows, and the query of the next page if there is one."""
    found = list(rows[: length + 1])
    if len(found) <= length:
        return found, None
    return found[:length], pagination.Trail.of(request).then(str(found[length - 1].pk))
