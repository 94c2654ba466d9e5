"""Alerts: list, read, acknowledge; silences: list, make, end."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.db import transaction
from django.http import HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.alerts import acts, notifications
from broker.errors.alerts import NoSuchAlert
from broker.models import Alert, AlertSilence
from broker.security import authorities
from broker.sql import database_now
from console.alert_pages import documents, firing, sight
from console.edges.problems import NO_NUL, REFUSED, require
from console.edges.requests import RequestBody

router = Router(tags=["alerts"])


class AlertState(Schema):
    """One alert."""

    id: int
    rule: str
    condition: str
    severity: str  # warning or critical
    state: str  # firing, acknowledged or resolved
    subject: str
    queue: str  # empty: it is of no queue
    fingerprint: str  # of dead letters; else empty
    text: str
    value: int
    silenced_until: datetime | None
    first_seen_at: datetime
    fired_at: datetime
    last_seen_at: datetime
    acknowledged_at: datetime | None
    acknowledged_by: str
    resolved_at: datetime | None


class StoryEvent(Schema):
    at: datetime
    kind: str
    actor: str  # empty: the broker
    detail: str


class AlertStory(AlertState):
    """An alert with its story."""

    events: list[StoryEvent]


class Alerts(Schema):
    alerts: list[AlertState]
    next: int | None


class AlertsQuery(Schema):
    state: Literal["standing", "resolved"] = "standing"
    after: int | None = Field(default=None, ge=1, lt=2**63)
    limit: int = Field(default=100, ge=1, le=500)


class AlertNote(RequestBody):
    reason: str = Field(default="", max_length=500, pattern=NO_NUL)


class NewSilence(RequestBody):
    """What to silence: all that is given must fit."""

    lasts: str = Field(max_length=40, pattern=NO_NUL)  # such as "4 h"
    rule: str = Field(default="", max_length=60, pattern=NO_NUL)
    queue: str = Field(default="", max_length=255, pattern=NO_NUL)
    fingerprint: str = Field(default="", max_length=100, pattern=NO_NUL)
    reason: str = Field(default="", max_length=500, pattern=NO_NUL)


class Silence(Schema):
    id: int
    rule: str
    queue: str
    fingerprint: str
    reason: str
    by: str
    begins_at: datetime
    ends_at: datetime


class Silences(Schema):
    silences: list[Silence]


@router.get("/alerts", response={200: Alerts, **REFUSED}, summary="Alerts")
def list_alerts(request: HttpRequest, page: Query[AlertsQuery]) -> dict[str, Any]:
    """Alerts that fire or are acknowledged, or resolved ones; the newest first."""
    require(request, sight.VIEW)
    resolved = page.state == "resolved"
    states = [Alert.State.RESOLVED] if resolved else list(Alert.STANDING)
    every = Alert.objects.filter(state__in=states).order_by("-pk")
    if page.after is not None:
        every = every.filter(pk__lt=page.after)
    found = list(every[: page.limit + 1])
    part = found[: page.limit]
    held = authorities.held_by(request.user)
    silences = list(notifications.silences_at(database_now()))
    seen = sight.visible(part, request.user, held)
    return {
        "alerts": [documents.told(one, silences) for one in seen],
        "next": part[-1].pk if len(found) > page.limit else None,
    }


@router.get(
    "/alerts/{int:alert_id}", response={200: AlertStory, **REFUSED}, summary="An alert"
)
def read_alert(request: HttpRequest, alert_id: Path[int]) -> dict[str, Any]:
    """One alert with its story."""
    require(request, sight.VIEW)
    return documents.with_story(sight.found(request.user, alert_id))


@router.post(
    "/alerts/{int:alert_id}/acknowledge",
    response={200: AlertStory, **REFUSED},
    summary="Acknowledge an alert",
)
def acknowledge_alert(
    request: HttpRequest, alert_id: Path[int], said: AlertNote
) -> dict[str, Any]:
    """Nobody else is told, and nothing is repeated, until it is resolved."""
    require(request, sight.OPERATE)
    sight.found(request.user, alert_id)
    one = acts.acknowledge(alert_id, by=request.user, reason=said.reason)
    firing.forget()
    return documents.with_story(one)


@router.get("/alert-silences", response={200: Silences, **REFUSED}, summary="Silences")
def list_silences(request: HttpRequest) -> dict[str, Any]:
    """Silences that hold now, the first to end first."""
    require(request, sight.VIEW)
    found = notifications.silences_at(database_now()).select_related("rule")
    seen = sight.silences(authorities.held_by(request.user), found)
    return {"silences": [documents.silence_told(one) for one in seen]}


@router.post(
    "/alert-silences", response={200: Silence, **REFUSED}, summary="Silence alerts"
)
def silence_alerts(request: HttpRequest, said: NewSilence) -> dict[str, Any]:
    """Tells nobody of some alerts for a time, at most 30 days."""
    require(request, sight.OPERATE)
    queue, fingerprint = said.queue, said.fingerprint
    sight.require_scope(request.user, queue=queue, fingerprint=fingerprint)
    made = acts.silence(
        documents.lasting(said.lasts),
        rule=documents.rule_of(said.rule),
        queues=queue,
        fingerprint=fingerprint,
        by=request.user,
        reason=said.reason,
    )
    return documents.silence_told(made)


@router.post(
    "/alert-silences/{int:silence_id}/end",
    response={200: Silence, **REFUSED},
    summary="End a silence",
)
def end_alert_silence(request: HttpRequest, silence_id: Path[int]) -> dict[str, Any]:
    """Ends a silence before its time."""
    require(request, sight.OPERATE)
    every = AlertSilence.objects.filter(pk=silence_id).select_related("rule")
    if not sight.silences(authorities.held_by(request.user), every):
        raise NoSuchAlert("silence", str(silence_id))
    with transaction.atomic():
        acts.end_silence(silence_id, by=request.user)
    return documents.silence_told(every.get())
