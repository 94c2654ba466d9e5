"""The work state of groups of dead letters: owner, note, acknowledgement, snooze."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from broker import errors
from broker.errors.groups import InvalidTicket
from broker.formats import moments
from broker.monitoring import dead_letter_groups
from broker.security.users import USERS
from broker.sql import database_now
from console.accounts.permissions import CHANGE
from console.messages.dead_letter_query import known_of
from console.views.dead_letters.dead_letter_list import shown
from dashboards.live import attention

SPANS = {  # durations of a snooze, by the value in the form
    "1h": timedelta(hours=1),
    "4h": timedelta(hours=4),
    "1d": timedelta(days=1),
    "3d": timedelta(days=3),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
LARGEST = 2**31 - 1


class DescribeForm(forms.Form):
    """The owner, note and ticket of a group."""

    owner = forms.ModelChoiceField(USERS.filter(is_active=True), required=False)
    note = forms.CharField(max_length=dead_letter_groups.LONGEST_NOTE, required=False)
    ticket = forms.CharField(required=False)


class SnoozeForm(forms.Form):
    """The duration of a snooze, and the number of letters that ends it earlier."""

    span = forms.ChoiceField(choices=[(one, one) for one in SPANS])
    above = forms.IntegerField(min_value=0, max_value=LARGEST, required=False)


class DeedForm(forms.Form):
    deed = forms.ChoiceField(
        choices=[(one, one) for one in ("describe", "acknowledge", "snooze", "wake")]
    )


@require_POST
@permission_required(CHANGE, raise_exception=True)
def say(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Change the work state of a group that the user may see."""
    deed = DeedForm(request.POST)
    if not deed.is_valid():
        return redirect("console:dead_letter_group", fingerprint)
    known = known_of(request.user, fingerprint)
    deeds: dict[str, Callable[[], str]] = {
        "describe": lambda: describe(request, fingerprint),
        "acknowledge": lambda: acknowledge(request, fingerprint, known),
        "snooze": lambda: snooze(request, fingerprint, known),
        "wake": lambda: wake(fingerprint),
    }
    try:
        with transaction.atomic():
            words = deeds[deed.cleaned_data["deed"]]()
    except InvalidTicket as error:
        said = request.POST
        return shown(request, fingerprint, status=422, wrong=str(error), typed=said)
    except forms.ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except errors.BrokerError as error:
        messages.error(request, str(error))
    else:
        attention.forget()
        messages.success(request, f"{words}.")
    return redirect(back(request, fingerprint))


def describe(request: HttpRequest, fingerprint: str) -> str:
    form = DescribeForm(request.POST)
    if not form.is_valid():
        raise forms.ValidationError(
            f"Choose one of the people, and write a note of at most"
            f" {dead_letter_groups.LONGEST_NOTE:,} characters."
        )
    dead_letter_groups.describe(fingerprint, **form.cleaned_data)
    return "Saved the owner, the note and the ticket"


def acknowledge(
    request: HttpRequest, fingerprint: str, known: dead_letter_groups.Known
) -> str:
    dead_letter_groups.acknowledge(fingerprint, request.user, known)
    return "Acknowledged"


def snooze(
    request: HttpRequest, fingerprint: str, known: dead_letter_groups.Known
) -> str:
    form = SnoozeForm(request.POST)
    if not form.is_valid():
        raise forms.ValidationError(
            "Choose how long to snooze it; a limit is a number of letters, 0 or more."
        )
    until = database_now() + SPANS[form.cleaned_data["span"]]
    above = form.cleaned_data["above"]
    dead_letter_groups.snooze(
        fingerprint, request.user, known, until=until, above=above
    )
    return f"Snoozed until {moments.in_utc(until, moments.MINUTE)}"


def wake(fingerprint: str) -> str:
    dead_letter_groups.ask_again(fingerprint)
    return "The group needs attention again"


def back(request: HttpRequest, fingerprint: str) -> str:
    """A redirect to the page that had the form."""
    if request.POST.get("from") == "list":
        return reverse("console:dead_letters")
    return reverse("console:dead_letter_group", args=[fingerprint])
