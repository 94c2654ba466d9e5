"""Alerts and silences, for REST and commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from broker.acts.alerts import (
    AlertState,
    AlertStory,
    SilenceState,
    read_silence,
    state_of,
    story_of,
)
from broker.acts.declaring import Holds
from broker.alerts import notifications, sight
from broker.models import Alert
from broker.security import authorities
from broker.security.authorities import Principal
from broker.sql import database_now
from console.edges.queries import LARGEST, All, Number, declared_query, page_of


@dataclass(frozen=True, slots=True)
class Alerts:
    """A page of alerts, the newest first; the next page begins after ``next``."""

    empty: ClassVar = "There is no alert."

    alerts: list[AlertState]
    next: int | None


@dataclass(frozen=True, slots=True)
class ListAlerts:
    """Which alerts, where the page begins, and its size."""

    state: Annotated[
        Literal["standing", "resolved"],
        Holds("Those that fire or are acknowledged, or those that are over."),
    ] = "standing"
    after: Annotated[
        int | None,
        Holds("The number after which the page begins.", least=1, most=LARGEST),
    ] = None
    limit: Annotated[int, Holds("The most alerts to return.", least=1, most=500)] = 100


@declared_query(sight.VIEW)
def list_alerts(actor: Principal, request: ListAlerts) -> Alerts:
    """Alerts.

    Those that fire or are acknowledged, or resolved ones; the newest first.
    """
    is_over = request.state == "resolved"
    states = [Alert.State.RESOLVED] if is_over else list(Alert.STANDING)
    every = Alert.objects.filter(state__in=states).order_by("-pk")
    if request.after is not None:
        every = every.filter(pk__lt=request.after)
    found = list(every[: request.limit + 1])
    part, following = page_of(found, request.limit, lambda one: one.pk)
    silences = list(notifications.silences_at(database_now()))
    visible = sight.visible(part, actor, authorities.held_by(actor))
    return Alerts(
        [state_of(one, silences) for one in visible],
        following,
    )


@dataclass(frozen=True, slots=True)
class ReadAlert:
    """The alert."""

    alert: Number


@declared_query(sight.VIEW)
def read_alert(actor: Principal, request: ReadAlert) -> AlertStory:
    """An alert with its story."""
    held = authorities.held_by(actor)
    return story_of(sight.found(actor, held, request.alert))


@dataclass(frozen=True, slots=True)
class Silences:
    """Silences that hold now."""

    empty: ClassVar = "There is no silence."

    silences: list[SilenceState]


@declared_query(sight.VIEW)
def list_silences(actor: Principal, request: All) -> Silences:
    """Silences that hold now, the first to end first."""
    found = notifications.silences_at(database_now()).select_related("rule")
    visible = sight.silences(authorities.held_by(actor), found)
    return Silences([read_silence(one) for one in visible])
