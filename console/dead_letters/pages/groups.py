"""Acts on groups of dead letters: owner, note, acknowledgement, snooze."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_POST

from broker.acts.groups import (
    GroupState,
    acknowledge_group,
    describe_group,
    reopen_group,
    snooze_group,
)
from broker.errors.groups import InvalidTicket
from broker.formats import moments
from console.dead_letters.pages.dead_letter_list import render_group
from console.edges import denials
from console.edges.web.forms import ActForm, form_of
from dashboards.live import attention

AcknowledgeForm = form_of(acknowledge_group, "fingerprint")
DescribeForm = form_of(describe_group, "fingerprint")
ReopenForm = form_of(reopen_group, "fingerprint")
SnoozeForm = form_of(
    snooze_group, "fingerprint", until=gettext_noop("Choose how long to snooze it.")
)


@require_POST
def acknowledge(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Acknowledge a group."""
    form = AcknowledgeForm(request.POST)
    return done(request, fingerprint, form, lambda _: gettext("Acknowledged."))


@require_POST
def snooze(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Snooze a group."""
    form = SnoozeForm(request.POST)
    return done(request, fingerprint, form, until)


def until(group: GroupState) -> str:
    assert group.snoozed_until is not None, "it was snoozed in this transaction"
    end = moments.in_utc(group.snoozed_until, moments.MINUTE)
    return gettext("Snoozed until %(time)s.") % {"time": end}


@require_POST
def reopen(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Remove the acknowledgement or the snooze of a group."""
    form = ReopenForm(request.POST)
    return done(
        request,
        fingerprint,
        form,
        lambda _: gettext("The group needs attention again."),
    )


@require_POST
def describe(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Set the owner, note and ticket of a group."""
    form = DescribeForm(request.POST)
    words = gettext("Saved the owner, the note and the ticket.")
    try:
        return done(request, fingerprint, form, lambda _: words)
    except InvalidTicket as error:
        denials.note(request, error)
        typed, wrong = request.POST, str(error)
        return render_group(request, fingerprint, status=422, wrong=wrong, typed=typed)


def done(
    request: HttpRequest,
    fingerprint: str,
    form: ActForm,
    words: Callable[[GroupState], str],
) -> HttpResponse:
    """Order an act, and show the group again."""
    group = form.order(request, fingerprint=fingerprint)
    attention.forget()
    messages.success(request, words(group))
    return redirect("console:dead_letter_group", fingerprint)
