"""Alerts: what fires, what fired, and what people do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, gettext_noop, ngettext
from django.views.decorators.http import require_POST, require_safe

from broker.acts import act, require
from broker.acts.alerts import (
    AcknowledgeAlerts,
    AcknowledgedAlerts,
    SendTestNotification,
    acknowledge_alert,
    acknowledge_alerts,
    end_alert_silence,
    silence_alerts,
)
from broker.alerts import notifications, owed, sight
from broker.alerts.names import DEAD, QUEUE
from broker.errors.alerts import AddressRefused, NotDelivered, NotFiring
from broker.formats import moments
from broker.formats.quantities import write_count
from broker.models import Alert, AlertRule, AlertTarget, Queue
from broker.problems.causes import cause_of
from broker.queueing import journal
from broker.security import authorities
from broker.sql import database_now
from console.alerts import causes
from console.edges import denials
from console.edges.web.forms import form_of
from dashboards.live import problems

HISTORY = 50
LISTED = 200  # most rows of one list
NOTHING_SELECTED = gettext_noop("Select the rows to acknowledge first.")
SCOPES = {  # the fields of an alert that its silence has, by scope
    "rule": ("rule",),
    "queue": ("queue",),
    "cause": ("fingerprint",),
}
AcknowledgeForm = form_of(acknowledge_alert, "alert")
SeveralForm = form_of(acknowledge_alerts, "alerts")
SilenceForm = form_of(
    silence_alerts,
    *("rule", "queue", "fingerprint"),
    until=gettext_noop("Choose how long to silence it."),
)
EndForm = form_of(end_alert_silence, "silence")


@require_safe
@permission_required(sight.VIEW, raise_exception=True)
def alerts(request: HttpRequest) -> HttpResponse:
    """What is wrong now, silences, earlier alerts, and the rules and targets."""
    held, now = authorities.held_by(request.user), database_now()
    silences = list(notifications.silences_at(now).select_related("rule"))
    past = Alert.objects.filter(state=Alert.State.RESOLVED).order_by("-resolved_at")
    may_see_targets = request.user.has_perm(sight.TARGETS)
    found = causes.now(request.user, held, problems.readings())
    may_select = request.user.has_perm(acknowledge_alerts.permission)
    context = {
        "causes": found,
        "may_select": may_select and any(one.firing for one in found.urgent),
        "listed": LISTED,
        "silenced": silences,
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
    held = authorities.held_by(request.user)
    one = sight.found(request.user, held, alert_id)
    standing = sight.visible(sight.standing()[: sight.MOST], request.user, held)
    silences = notifications.silences_at(database_now())
    context = {
        "alert": one,
        "others": [
            other
            for other in standing
            if other != one and cause_of(other) == cause_of(one)
        ],
        "events": one.events.all(),
        "silence": owed.silence_of(one, silences),
        "dead": DEAD,
    }
    return render(request, "console/alerts/alert.html", context)


@require_POST
def acknowledge(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Acknowledge an alert."""
    form = AcknowledgeForm(request.POST)
    return done(
        request,
        lambda: form.order(request, alert=alert_id),
        lambda alert: (
            gettext("Acknowledged: %(alert)s.")
            % {"alert": alert.text[:100].rstrip(".")}
        ),
    )


@require_POST
def acknowledge_several(request: HttpRequest) -> HttpResponse:
    """Acknowledge the alerts of one row, of the selected rows, or of all rows."""
    require(request.user, AcknowledgeAlerts())
    words = " ".join(request.POST.getlist("alerts")).split()
    numbers = tuple(dict.fromkeys(int(one) for one in words if one.isdecimal()))
    if not numbers:
        messages.error(request, gettext(NOTHING_SELECTED))
        return back(request)
    form = SeveralForm(request.POST)
    return done(
        request,
        lambda: form.order(request, alerts=numbers[: sight.MOST]),
        how_many_acknowledged,
    )


def how_many_acknowledged(done: AcknowledgedAlerts) -> str:
    n = len(done.alerts)
    text = ngettext("%(n)s alert acknowledged.", "%(n)s alerts acknowledged.", n)
    return text % {"n": write_count(n)}


@require_POST
def silence(request: HttpRequest, alert_id: int) -> HttpResponse:
    """Silence an alert, or all of its rule, queue or cause."""
    one = sight.found(request.user, authorities.held_by(request.user), alert_id)
    rule = one.rule.name if one.rule else None
    has = {"rule": rule, "queue": one.queue, "fingerprint": one.fingerprint}
    fields = SCOPES.get(request.POST.get("scope", ""), tuple(has))
    return silenced(request, **{name: has[name] for name in fields})


@require_POST
def silence_cause(request: HttpRequest, fingerprint: str) -> HttpResponse:
    """Silence all alerts about dead letters of one cause."""
    return silenced(request, fingerprint=fingerprint)


def silenced(request: HttpRequest, **scope: str | None) -> HttpResponse:
    form = SilenceForm(request.POST)
    return done(
        request,
        lambda: form.order(request, **scope),
        lambda made: (
            gettext("Silenced until %(time)s.")
            % {"time": moments.in_utc(made.ends_at, moments.MINUTE)}
        ),
    )


@require_POST
def end_silence(request: HttpRequest, silence_id: int) -> HttpResponse:
    """End a silence before its time."""
    form = EndForm(request.POST)
    return done(
        request,
        lambda: form.order(request, silence=silence_id),
        lambda _: gettext("The silence has ended."),
    )


@require_POST
def send_test(request: HttpRequest, alert_target: str) -> HttpResponse:
    """Send a test notification, and say what the other side answered."""
    order = SendTestNotification(alert_target)
    return done(request, lambda: act(request.user, order), str)


def done(
    request: HttpRequest, order: Callable[[], Any], words: Callable[[Any], str]
) -> HttpResponse:
    """Order an act, and go back to the page of the form; what the act refuses by the
    state of an alert is said there."""
    try:
        answer = order()
    except (NotFiring, NotDelivered, AddressRefused) as error:
        denials.note(request, error)
        messages.error(request, str(error))
    else:
        causes.forget()
        messages.success(request, words(answer))
    return back(request)


def back(request: HttpRequest) -> HttpResponse:
    """To the page of the form."""
    page = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(page, None) and page.startswith("/"):
        return redirect(page)
    return redirect("console:alerts")
