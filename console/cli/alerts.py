"""``backout alert``: alerts, silences, and a test of a target."""

from __future__ import annotations

from typing import Annotated, Any

from django.core.management.base import CommandError
from django.db import transaction
from typer import Argument, Option

from broker.alerts import acts, notifications
from broker.errors.alerts import NoSuchAlert
from broker.formats import moments
from broker.models import Alert, AlertSilence, AlertTarget
from broker.security import authorities
from broker.sql import database_now
from console.alert_pages import documents, sight
from console.edges import people, telling
from console.edges.options import Json, Limit, Reason, User
from console.edges.people import REFUSED

Number = Annotated[int, Argument(help="Its number.", min=1, max=2**63 - 1)]
Resolved = Annotated[bool, Option("--resolved", help="Those that are over.")]
Lasts = Annotated[str, Argument(help="For how long, as “4 h”; at most 30 d.")]
Name = Annotated[str, Argument(help="The name of the target.")]
Rule = Annotated[str, Option(help="Those of this rule.")]
QueueName = Annotated[str, Option("--queue", help="Those of this queue.")]
Group = Annotated[str, Option(help="Those about dead letters with this fingerprint.")]
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
    person = people.acting(user)
    people.require(person, sight.VIEW)
    states = [Alert.State.RESOLVED] if resolved else list(Alert.STANDING)
    every = Alert.objects.filter(state__in=states).order_by("-pk")[:limit]
    silences = list(notifications.silences_at(database_now()))
    seen = sight.visible(every, person, authorities.held_by(person))
    rows = [documents.told(one, silences) for one in seen]
    shown = (*SHOWN, "silenced_until")
    if not json:
        rows = [{name: row[name] for name in shown} for row in rows]
    self.tell_rows("alerts", rows, as_json=json, empty="There is no alert.")


def show(self: Any, number: Number, *, user: User = None, json: Json = False) -> None:
    """Show one alert with its story."""
    person = people.acting(user)
    people.require(person, sight.VIEW)
    told = documents.with_story(sight.found(person, number))
    if json:
        self.tell(told, "", as_json=True)
        return
    self.tell_rows("alert", [{n: told[n] for n in SHOWN}], as_json=False, empty="")
    self.tell_rows("events", told["events"], as_json=False, empty="It has no story.")


def acknowledge(
    self: Any,
    number: Number,
    *,
    reason: Reason = "",
    user: User = None,
    json: Json = False,
) -> None:
    """Say that somebody sees to an alert: nobody else is told."""
    person = people.acting(user)
    people.require(person, sight.OPERATE)
    sight.found(person, number)
    one = acts.acknowledge(number, by=person, reason=reason)
    said = f"Alert {number} is acknowledged."
    self.tell(documents.with_story(one), said, as_json=json)


def silence(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    lasts: Lasts,
    *,
    rule: Rule = "",
    queue: QueueName = "",
    group: Group = "",
    reason: Reason = "",
    user: User = None,
    json: Json = False,
) -> None:
    """Tell nobody of some alerts for a time; all that is given must fit."""
    person = people.acting(user)
    people.require(person, sight.OPERATE)
    sight.require_scope(person, queue=queue, fingerprint=group)
    made = acts.silence(
        documents.lasting(lasts),
        rule=documents.rule_of(rule),
        queues=queue,
        fingerprint=group,
        by=person,
        reason=reason,
    )
    said = f"Silence {made.pk} lasts until {moments.in_utc(made.ends_at)}."
    self.tell(documents.silence_told(made), said, as_json=json)


def silences(self: Any, *, user: User = None, json: Json = False) -> None:
    """List the silences that hold now, the first to end first."""
    person = people.acting(user)
    people.require(person, sight.VIEW)
    found = notifications.silences_at(database_now()).select_related("rule")
    seen = sight.silences(authorities.held_by(person), found)
    rows = [documents.silence_told(one) for one in seen]
    self.tell_rows("silences", rows, as_json=json, empty="There is no silence.")


def end_silence(
    self: Any, number: Number, *, user: User = None, json: Json = False
) -> None:
    """End a silence before its time."""
    person = people.acting(user)
    people.require(person, sight.OPERATE)
    every = AlertSilence.objects.filter(pk=number).select_related("rule")
    if not sight.silences(authorities.held_by(person), every):
        raise NoSuchAlert("silence", str(number))
    with transaction.atomic():
        acts.end_silence(number, by=person)
    told = documents.silence_told(every.get())
    self.tell(told, f"Silence {number} has ended.", as_json=json)


def try_target(self: Any, name: Name, *, user: User = None, json: Json = False) -> None:
    """Send a test notification to a target."""
    person = people.acting(user)
    people.require(person, sight.TEST)
    target = AlertTarget.objects.filter(name=name).first()
    if target is None:
        raise CommandError(f"There is no target {name!r}.", returncode=REFUSED)
    answer = acts.try_out(target, by=person)
    self.tell(
        {"target": name, "answer": answer},
        f"{name}: {telling.in_words(answer)}",
        as_json=json,
    )
