"""Alerts and silences as JSON, and what people write of them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from broker.alerts import notifications, owed
from broker.errors.alerts import InvalidAlert, NoSuchAlert
from broker.formats.quantities import read_duration
from broker.models import Alert, AlertRule, AlertSilence
from broker.sql import database_now

FIELDS = (
    *("id", "condition", "severity", "state", "subject", "queue", "fingerprint"),
    *("text", "value", "first_seen_at", "fired_at", "last_seen_at"),
    *("acknowledged_at", "acknowledged_by", "resolved_at"),
)


def lasting(text: str) -> timedelta:
    try:
        return timedelta(seconds=read_duration(text.strip() or "0"))
    except (ValueError, OverflowError) as error:
        raise InvalidAlert("lasts", str(error)) from None


def rule_of(name: str) -> AlertRule | None:
    if not name:
        return None
    found = AlertRule.objects.filter(name=name).first()
    if found is None:
        raise NoSuchAlert("alert rule", name)
    return found


def told(one: Alert, silences: Iterable[AlertSilence]) -> dict[str, Any]:
    silence = owed.silence_of(one, silences)
    return {
        **{name: getattr(one, name) for name in FIELDS},
        "rule": one.rule_name,
        "silenced_until": silence.ends_at if silence else None,
    }


def with_story(one: Alert) -> dict[str, Any]:
    silences = notifications.silences_at(database_now())
    events = one.events.values("at", "kind", "actor", "detail")
    return {**told(one, silences), "events": list(events)}


def silence_told(one: AlertSilence) -> dict[str, Any]:
    names = ("id", "fingerprint", "reason", "by", "begins_at", "ends_at")
    return {
        **{name: getattr(one, name) for name in names},
        "rule": one.rule.name if one.rule else "",
        "queue": one.queues,
    }
