"""Alerts: list, read, acknowledge; silences: list, make, end."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.acts.alerts import (
    AlertState,
    AlertStory,
    SilenceState,
    acknowledge_alert,
    end_alert_silence,
    read_silence,
    send_test_notification,
    silence_alerts,
    state_of,
    story_of,
)
from broker.alerts import notifications, sight
from broker.models import Alert
from broker.security import authorities
from broker.sql import database_now
from console.alerts import firing
from console.edges.rest.acts import serve
from console.edges.rest.problems import REFUSED, require

router = Router(tags=["alerts"])


class Alerts(Schema):
    alerts: list[AlertState]
    next: int | None


class AlertsQuery(Schema):
    state: Literal["standing", "resolved"] = "standing"
    after: int | None = Field(default=None, ge=1, lt=2**63)
    limit: int = Field(default=100, ge=1, le=500)


class Silences(Schema):
    silences: list[SilenceState]


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
        "alerts": [state_of(one, silences) for one in seen],
        "next": part[-1].pk if len(found) > page.limit else None,
    }


@router.get(
    "/alerts/{int:alert_id}", response={200: AlertStory, **REFUSED}, summary="An alert"
)
def read_alert(request: HttpRequest, alert_id: Path[int]) -> AlertStory:
    """One alert with its story."""
    require(request, sight.VIEW)
    held = authorities.held_by(request.user)
    return story_of(sight.found(request.user, held, alert_id))


@router.get("/alert-silences", response={200: Silences, **REFUSED}, summary="Silences")
def list_silences(request: HttpRequest) -> dict[str, Any]:
    """Silences that hold now, the first to end first."""
    require(request, sight.VIEW)
    found = notifications.silences_at(database_now()).select_related("rule")
    seen = sight.silences(authorities.held_by(request.user), found)
    return {"silences": [read_silence(one) for one in seen]}


serve(
    router,
    "POST",
    "/alert-targets/{queue:alert_target}/test",
    send_test_notification,
    alert_target="target",
)
serve(
    router,
    "POST",
    "/alerts/{int:alert_id}/acknowledge",
    acknowledge_alert,
    after=firing.forget,
    alert_id="alert",
)
serve(router, "POST", "/alert-silences", silence_alerts)
serve(
    router,
    "POST",
    "/alert-silences/{int:silence_id}/end",
    end_alert_silence,
    silence_id="silence",
)
