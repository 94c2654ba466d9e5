"""Changes to an operation: pace, pause, continue, and which messages it includes."""

from __future__ import annotations

from collections.abc import Callable

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from broker import operations
from broker.models import Operation
from broker.operations import Only, rate_limit
from console.accounts import permissions
from console.operations import results
from console.operations.permissions import require_ways
from console.views.operations.operations import seen

MOST = 2**31 - 1


class PaceForm(forms.Form):
    pace = forms.IntegerField(
        min_value=1,
        max_value=rate_limit.FASTEST,
        required=False,
        error_messages={"invalid": "Give a number, or nothing."},
    )


class NarrowForm(forms.Form):
    """The first messages of a plan, or a sample."""

    messages = forms.IntegerField(
        min_value=1,
        max_value=MOST,
        error_messages={"required": "Say how many.", "invalid": "Give a number."},
    )
    which = forms.ChoiceField(choices=[("first", ""), ("sample", "")])

    @property
    def only(self) -> Only:
        said = self.cleaned_data
        return Only(said["messages"], sampled=said["which"] == "sample")


class CeilingForm(forms.Form):
    reason = forms.CharField(max_length=500, required=False)


Change = Callable[[HttpRequest, Operation], None]


def changes(change: Change) -> Callable[[HttpRequest, int], HttpResponse]:
    """Make a view that changes an operation the user may see, and returns to it."""

    @require_POST
    @permission_required(permissions.CHANGE, raise_exception=True)
    @transaction.atomic
    def view(request: HttpRequest, operation_id: int) -> HttpResponse:
        found, _ = seen(request, operation_id)
        change(request, found)
        return redirect("console:operation", operation_id)

    return view


@changes
def pause(request: HttpRequest, found: Operation) -> None:
    """Pause the operation."""
    operations.pause(found.pk)


@changes
def carry_on(request: HttpRequest, found: Operation) -> None:
    """Continue after a pause or a halt; needs the rights to start the operation."""
    require_ways(request.user, found, results.ledger_of(found))
    operations.carry_on(found.pk, at_once="at_once" in request.POST)


@changes
def pace(request: HttpRequest, found: Operation) -> None:
    """Change the pace of the operation."""
    form = PaceForm(request.POST)
    if not form.is_valid():
        refuse(request, form)
        return
    operations.set_pace(found.pk, form.cleaned_data["pace"])


@changes
def narrow(request: HttpRequest, found: Operation) -> None:
    """Keep only a number of messages in a plan."""
    form = NarrowForm(request.POST)
    if not form.is_valid():
        refuse(request, form)
        return
    operations.narrow(found.pk, form.only)


@changes
def take_in(request: HttpRequest, found: Operation) -> None:
    """Include the messages that were left out of a plan."""
    form = CeilingForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""
    operations.take_in(found.pk, reason)
    require_ways(request.user, found, results.ledger_of(found))


def refuse(request: HttpRequest, form: forms.Form) -> None:
    ((sentence, *_), *_) = form.errors.values()
    messages.error(request, str(sentence))
