"""``backout alert``: alerts and silences."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from typer import Argument, Option

from broker.acts.alerts import read_silence, state_of, story_of
from broker.alerts import notifications, sight
from broker.models import Alert
from broker.security import authorities
from broker.sql import database_now
from console.edges.commands import actors
from console.edges.commands.options import Json, Limit, User

Number = Annotated[int, Argument(help="Its number.", min=1, max=2**63 - 1)]
Resolved = Annotated[bool, Option("--resolved", help="Those that are over.")]
SHOWN = ("id", "severity", "state", "rule", "queue", "text", "fired_at")


def list_all(
    self: Any,
    *,
    resolved: Resolved = False,
    limit: Limit = 50,
    user: User = None,
    json: Json = False,
) -> None:
    """List alerts that fire or are acknowledged, or are over; the newest first."""
    person = actors.acting(user)
    actors.require(person, sight.VIEW)
    states = [Alert.State.RESOLVED] if resolved else list(Alert.STANDING)
    every = Alert.objects.filter(state__in=states).order_by("-pk")[:limit]
    silences = list(notifications.silences_at(database_now()))
    seen = sight.visible(every, person, authorities.held_by(person))
    rows = [asdict(state_of(one, silences)) for one in seen]
    shown = (*SHOWN, "silenced_until")
    if not json:
        rows = [{name: row[name] for name in shown} for row in rows]
    self.tell_rows("alerts", rows, as_json=json, empty="There is no alert.")


def show(self: Any, number: Number, *, user: User = None, json: Json = False) -> None:
    """Show one alert with its story."""
    person = actors.acting(user)
    actors.require(person, sight.VIEW)
    alert = sight.found(person, authorities.held_by(person), number)
    told = asdict(story_of(alert))
    if json:
        self.tell(told, "", as_json=True)
        return
    self.tell_rows("alert", [{n: told[n] for n in SHOWN}], as_json=False, empty="")
    self.tell_rows("events", told["events"], as_json=False, empty="It has no story.")


def silences(self: Any, *, user: User = None, json: Json = False) -> None:
    """List the silences that hold now, the first to end first."""
    person = actors.acting(user)
    actors.require(person, sight.VIEW)
    found = notifications.silences_at(database_now()).select_related("rule")
    seen = sight.silences(authorities.held_by(person), found)
    rows = [asdict(read_silence(one)) for one in seen]
    self.tell_rows("silences", rows, as_json=json, empty="There is no silence.")
