"""What people do with alerts: acknowledge, silence, and try a target out."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from broker.alerts import channels, notifications
from broker.alerts.evaluation import LONGEST, tell
from broker.alerts.owed import News, holds_for
from broker.errors.alerts import InvalidAlert, NoSuchAlert, NotFiring
from broker.formats import moments
from broker.formats.wildcards import check_pattern
from broker.models import Act, Alert, AlertEvent, AlertRule, AlertSilence, AlertTarget
from broker.security import audit
from broker.security.audit import Thing
from broker.security.authorities import Principal, name_of
from broker.sql import database_now

LONGEST_SILENCE = timedelta(days=30)
FINGERPRINT = re.compile(r"[-a-zA-Z0-9_]*")  # characters that pages' URLs allow
TEST_TEXT = "This is a test. Nothing is wrong."


@transaction.atomic
def acknowledge(
    alert_id: int,
    *,
    by: Principal = None,
    reason: str = "",
    now: datetime | None = None,
) -> Alert:
    """Say that somebody sees to an alert: nobody else is told, and nothing repeats.

    Raises:
        NoSuchAlert: there is no such alert.
        NotFiring: it does not fire, or was acknowledged already.
    """
    alert = Alert.objects.select_for_update().filter(pk=alert_id).first()
    if alert is None or alert.state == Alert.State.PENDING:
        raise NoSuchAlert("alert", str(alert_id))
    if alert.state != Alert.State.FIRING:
        raise NotFiring(alert_id, alert.state)
    at = now or database_now()
    alert.state = Alert.State.ACKNOWLEDGED
    alert.acknowledged_at = at
    alert.acknowledged_by = name_of(by)
    alert.save()
    tell(alert, AlertEvent.Kind.ACKNOWLEDGED, at, reason[:LONGEST], name_of(by))
    audit.record(Act.ACKNOWLEDGE_ALERT, thing(alert), by=by, reason=reason)
    notifications.tell_acknowledged(alert, now=at)
    return alert


@transaction.atomic
def silence(  # noqa: PLR0913  # all but the first are keywords
    until: datetime,
    *,
    rule: AlertRule | None = None,
    queues: str = "",
    fingerprint: str = "",
    by: Principal = None,
    reason: str = "",
    now: datetime | None = None,
) -> AlertSilence:
    """Tell nobody of some alerts for a time. They go on; what still fires at its end is
    told then.

    Args:
        until: at most 30 days from now.
        rule, queues, fingerprint: the alerts: all that are given must fit.

    Raises:
        InvalidAlert: it says of nothing, names what cannot be, or lasts too long.
    """
    at = now or database_now()
    if not at < until <= at + LONGEST_SILENCE:
        raise InvalidAlert("until", "A silence lasts more than 0 s and at most 30 d.")
    if rule is None and not queues and not fingerprint:
        raise InvalidAlert("rule", "Give a rule, a queue or a cause to silence.")
    if not FINGERPRINT.fullmatch(fingerprint):
        problem = "Give the fingerprint of dead letters: letters and digits."
        raise InvalidAlert("fingerprint", problem)
    try:
        if queues:
            check_pattern(queues)
    except ValidationError as error:
        raise InvalidAlert("queues", error.messages[0]) from None
    made = AlertSilence.objects.create(
        rule=rule,
        queues=queues,
        fingerprint=fingerprint,
        reason=reason[:LONGEST],
        by=name_of(by),
        begins_at=at,
        ends_at=until,
    )
    note_silence(
        made,
        AlertEvent.Kind.SILENCED,
        at,
        f"until {moments.in_utc(made.ends_at, moments.MINUTE)}",
    )
    detail = {
        "rule": rule.name if rule else "",
        "queues": queues,
        "fingerprint": fingerprint,
        "until": made.ends_at.isoformat(),
    }
    audit.record(
        Act.SILENCE_ALERTS, Thing.of(made), by=by, reason=reason, detail=detail
    )
    return made


@transaction.atomic
def end_silence(
    silence_id: int, *, by: Principal = None, now: datetime | None = None
) -> bool:
    """End a silence before its time; return False if it is over.

    Raises:
        NoSuchAlert: there is no such silence.
    """
    found = AlertSilence.objects.select_for_update().filter(pk=silence_id).first()
    if found is None:
        raise NoSuchAlert("silence", str(silence_id))
    at = now or database_now()
    if found.ends_at <= at:
        return False
    found.ends_at = max(at, found.begins_at)
    found.save()
    note_silence(found, AlertEvent.Kind.UNSILENCED, at, "", name_of(by))
    audit.record(Act.END_SILENCE, Thing.of(found), by=by)
    return True


def note_silence(
    made: AlertSilence, kind: AlertEvent.Kind, at: datetime, words: str, by: str = ""
) -> None:
    for alert in Alert.objects.filter(state__in=Alert.STANDING):
        if holds_for(made, alert):
            tell(alert, kind, at, words, by or made.by)


def try_out(
    target: AlertTarget, *, by: Principal = None, now: datetime | None = None
) -> str:
    """Send a test notification to a target at once, also in its quiet hours.

    Returns:
        What the other side answered.

    Raises:
        NotDelivered, AddressRefused: it was not taken.
    """
    audit.record(Act.TEST_TARGET, Thing.of(target), by=by)
    at = now or database_now()
    probe = Alert(
        pk=0,
        rule_name="test",
        condition="test",
        severity=AlertRule.Severity.WARNING,
        subject="test",
        state=Alert.State.FIRING,
        text=f"{TEST_TEXT} {settings.BROKER_NAME} reaches {target.name}.",
        value=0,
        fired_at=at,
    )
    said = notifications.document([probe], target, News.TEST, at)
    said["alerts"][0]["url"] = ""
    return channels.send(target, said, f"backout-test-{at.timestamp():.0f}")


def thing(alert: Alert) -> Thing:
    return Thing("alert", alert.pk, str(alert)[:LONGEST])
