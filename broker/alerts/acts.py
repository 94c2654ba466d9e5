"""What people do with alerts: acknowledge, silence, and try a target out."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from broker.alerts import channels, notifications
from broker.alerts.evaluation import tell
from broker.alerts.owed import News, holds_for
from broker.errors.alerts import InvalidAlert, NoSuchAlert
from broker.formats import moments
from broker.formats.wildcards import check_pattern
from broker.models import Act, Alert, AlertEvent, AlertRule, AlertSilence, AlertTarget
from broker.problems.problem import LONGEST
from broker.security import audit
from broker.security.audit import Thing
from broker.security.authorities import Principal, name_of
from broker.sql import database_now

LONGEST_SILENCE = timedelta(days=30)
FINGERPRINT = re.compile(r"[-a-zA-Z0-9_]*")  # characters that pages' URLs allow
TEST_TEXT = "This is a test. Nothing is wrong."


@transaction.atomic
def acknowledge(
    alerts: Collection[int],
    *,
    by: Principal = None,
    reason: str = "",
    now: datetime | None = None,
) -> list[Alert]:
    """Say that somebody sees to alerts: nobody else is told, and nothing repeats.

    Those that do not fire, because they are over or acknowledged already, stay as they
    are.

    Returns:
        The alerts that fired until now.
    """
    fire = Alert.objects.filter(pk__in=alerts, state=Alert.State.FIRING)
    found = list(fire.select_for_update().order_by("pk"))
    at, who = now or database_now(), name_of(by)
    for one in found:
        one.state = Alert.State.ACKNOWLEDGED
        one.acknowledged_at, one.acknowledged_by = at, who
        tell(one, AlertEvent.Kind.ACKNOWLEDGED, at, reason[:LONGEST], who)
        audit.record(Act.ACKNOWLEDGE_ALERT, thing(one), by=by, reason=reason)
    changed = ("state", "acknowledged_at", "acknowledged_by")
    Alert.objects.bulk_update(found, changed)
    notifications.tell_acknowledged(found, now=at)
    return found


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
