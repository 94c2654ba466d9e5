"""Alerts: what fires, what fired, and what people do about it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST, require_safe

from broker.alerts import acts, notifications, owed
from broker.alerts.names import DEAD, QUEUE
from broker.errors.alerts import AlertError, InvalidAlert, NoSuchAlert
from broker.formats import moments
from broker.models import Alert, AlertRule, AlertTarget, Queue
from broker.queueing import journal
from broker.security import authorities
from broker.sql import database_now
from console.alert_pages import firing, sight
from console.layout.error_responses import status_of

SPANS = {  # durations of a silence, by the value in the form
    "1h": timedelta(hours=1),
    "4h": timedelta(hours=4),
    "1d": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
HISTORY = 50
SCOPES = ("subject", "rule", "queue", "cause")


class SilenceForm(forms.Form):
    """For how long, and why."""

    span = forms.ChoiceField(choices=[(one, one) for one in SPANS])
    scope = forms.ChoiceField(choices=[(one, one) for one in SCOPES], required=False)
    reason = forms.CharField(max_length=500, required=False)


class ReasonForm(forms.Form):
    reason = forms.CharField(max_length=500, required=False)


@require_safe
@permission_required(sight.VIEW, raise_exception=True)
def alerts(request: HttpRequest) -> HttpResponse:
    """What fires now, silences, earlier alerts, and the rules and targets."""
    held, now = authorities.held_by(request.user), database_now()
    silences = list(notifications.silences_at(now).select_related("rule"))
    past = Alert.objects.filter(state=Alert.State.RESOLVED).order_by("-resolved_at")
    may_see_targets = request.user.has_perm(sight.TARGETS)
    context = {
        "standing": [
            (one, owed.silence_of(one, silences))
            for one in sight.visible(sight.standing()[: sight.MOST], request.user, held)
        ],
        "past": sight.visible(past[:HISTORY], request.user, held),
        "silences": sight.silences(held, silences),
        "rules": AlertRule.objects.prefetch_related("targets"),
        "targets": AlertTarget.objects.all() if may_see_targets else None,
        "unsent": unsent(),
    }
    return render(request, "console/alerts/alerts.html", context)


def unsent() -> dict[str, int]:
    """Notifications that wait, and those that could not be delivered."""
    ids = dict(Queue.objects.filter(name__in=[QUEUE, DEAD]).values_list("name", "pk"))
    depths = journal.depths(ids.values()) if ids else {}
    counts = {name: depths.get(pk, journal.Depth()).total for name, pk in ids.items()}
    return {"waiting": counts.get(QUEUE, 0), "dead": counts.get(DEAD, 0)}


@require_safe
@permission_required(sight.VIEW, raise_exception=True)
def alert(request: HttpRequest, alert_id: int) -> HttpResponse:
    """One alert: its story, and what can be done."""
    try:
        one = sight.found(request.user, alert_id)
    except NoSuchAlert as error:
        return gone(request, error)
    silences = notifications.silences_at(database_now())
    context = {
        "alert": one,
        "events": one.events.all(),
        "silence": owed.silence_of(one, silences),
        "dead": DEAD,
    }
    return render(request, "console/alerts/alert.html", context)


def gone(request: HttpRequest, error: NoSuchAlert) -> HttpResponse:
    status = status_of(error)
    return render(request, "console/alerts/gone.html", {"why": error}, status=status)


@require_POST
@permission_required(sight.OPERATE, raise_exception=True)
def acknowledge(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Say that one sees to an alert."""
    form = ReasonForm(request.POST)
    reason = form.cleaned_data["reason"] if form.is_valid() else ""

    def act() -> str:
        sight.found(request.user, alert_id)
        one = acts.acknowledge(alert_id, by=request.user, reason=reason)
        return f"Acknowledged: {one.text[:100]}"

    return done(request, act)


@require_POST
@permission_required(sight.OPERATE, raise_exception=True)
def silence(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Silence an alert, or all of its rule, queue or cause."""
    form = SilenceForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose how long to silence it, and what.")
        return redirect("console:alert", alert_id)

    def act() -> str:
        one = sight.found(request.user, alert_id)
        scope = scope_of(one, form.cleaned_data["scope"])
        if not (scope.get("queues") or scope.get("fingerprint")):
            require_everywhere(request)
        return silenced(request, form, **scope)

    return done(request, act)


def require_everywhere(request: HttpRequest) -> None:
    """A whole rule has alerts of any queue, also of those that one may not see."""
    if not authorities.held_by(request.user).everywhere("inquire"):
        raise InvalidAlert("scope", sight.WHOLE_RULE)


def scope_of(one: Alert, scope: str) -> dict[str, Any]:
    """What a silence holds for, of what an alert has."""
    everything = {"rule": one.rule, "queues": one.queue, "fingerprint": one.fingerprint}
    kept = {
        "rule": ("rule",),
        "queue": ("queues",),
        "cause": ("fingerprint",),
    }.get(scope, tuple(everything))
    return {name: value for name, value in everything.items() if name in kept}


@require_POST
@permission_required(sight.OPERATE, raise_exception=True)
def silence_cause(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Silence all alerts about dead letters of one cause."""
    sight.require_scope(request.user, fingerprint=fingerprint)
    form = SilenceForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose how long to silence it.")
        return redirect("console:dead_letter_group", fingerprint)
    return done(request, lambda: silenced(request, form, fingerprint=fingerprint))


def silenced(request: HttpRequest, form: SilenceForm, **scope: Any) -> str:
    made = acts.silence(
        SPANS[form.cleaned_data["span"]],
        by=request.user,
        reason=form.cleaned_data["reason"],
        **scope,
    )
    return f"Silenced until {moments.in_utc(made.ends_at, moments.MINUTE)}"


@require_POST
@permission_required(sight.OPERATE, raise_exception=True)
def end_silence(request: HttpRequest, silence_id: int) -> HttpResponse:
    """End a silence before its time."""

    def act() -> str:
        found = notifications.silences_at(database_now()).filter(pk=silence_id)
        if not sight.silences(authorities.held_by(request.user), found):
            raise NoSuchAlert("silence", str(silence_id))
        acts.end_silence(silence_id, by=request.user)
        return "The silence has ended"

    return done(request, act)


@require_POST
@permission_required(sight.TEST, raise_exception=True)
def test_target(request: HttpRequest, target_id: int) -> HttpResponse:
    """Send a test notification, and tell what the other side answered."""
    target = AlertTarget.objects.filter(pk=target_id).first()
    if target is None:
        return gone(request, NoSuchAlert("alert target", str(target_id)))
    try:
        answer = acts.try_out(target, by=request.user)
        messages.success(request, f"{target.name}: {answer}")
    except AlertError as error:
        messages.error(request, f"{target.name}: {error}")
    return redirect("console:alerts")


def done(request: HttpRequest, act: Callable[[], str]) -> HttpResponse:
    """Do something in a transaction, and go back to the page of the form."""
    try:
        with transaction.atomic():
            words = act()
    except NoSuchAlert as error:
        return gone(request, error)
    except AlertError as error:
        messages.error(request, str(error))
    else:
        firing.forget()
        messages.success(request, f"{words.rstrip('.')}.")
    back = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(back, None) and back.startswith("/"):
        return redirect(back)
    return redirect("console:alerts")
