"""Who is to be told what, now: pure functions of rules, alerts and times."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from broker.formats.wildcards import matches
from broker.models import (
    Alert,
    AlertNotice,
    AlertRule,
    AlertSilence,
    AlertTarget,
)

State, Kind = Alert.State, AlertTarget.Kind
# Shortest time between two notifications to one target. People get what is not critical
# in a digest.
APART = timedelta(minutes=1)
DIGEST = timedelta(minutes=10)
READ_BY_PEOPLE = (Kind.EMAIL, Kind.SLACK)
# Kinds of targets that are told of acknowledgements, because this disturbs nobody
# there.
HEAR_OF_ACKNOWLEDGEMENTS = (Kind.WEBHOOK, Kind.SLACK, Kind.PAGERDUTY)
# Kinds of targets that get a notification for each alert: PagerDuty groups alerts
# itself, and resolves each alert by its key.
ONE_BY_ONE = (Kind.PAGERDUTY,)


class News(StrEnum):
    """What a notification tells."""

    FIRING = "firing"
    ACKNOWLEDGED = "acknowledged"
    RESOLVED = "resolved"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Recipient:
    """A target that a rule tells: at once, or if nobody has acknowledged by then."""

    target: AlertTarget
    after_s: int


@dataclass(frozen=True, slots=True)
class Debt:
    """One target is to be told of one alert."""

    alert: Alert
    target: AlertTarget
    news: News


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What decides, besides the alerts, which notifications are owed."""

    recipients: Mapping[int, list[Recipient]]  # by id of the rule
    notices: Mapping[int, list[AlertNotice]]  # by id of the alert
    silences: Iterable[AlertSilence]
    now: datetime


def debts(alerts: Iterable[Alert], about: Circumstances) -> Iterator[Debt]:
    """All notifications that are owed now, before ``APART`` and grouping."""
    for alert in alerts:
        if alert.state == State.RESOLVED:
            yield from of_resolved(alert, about)
        elif alert.state == State.FIRING and not silence_of(alert, about.silences):
            yield from of_firing(alert, about)


def of_firing(alert: Alert, about: Circumstances) -> Iterator[Debt]:
    """A firing alert is owed to each recipient that was not told yet, after the delay
    of the recipient, and again after the interval of repetitions."""
    assert alert.fired_at is not None, "it fires"
    told = {one.target_id: one.told_at for one in about.notices.get(alert.pk, ())}
    for one in about.recipients.get(alert.rule_id or 0, ()):
        due_at = alert.fired_at + timedelta(seconds=one.after_s)
        if one.target.pk in told:
            due_at = next_repeat(alert.rule, told[one.target.pk])
        if due_at <= about.now and may_reach(one.target, alert.severity, about.now):
            yield Debt(alert, one.target, News.FIRING)


def next_repeat(rule: AlertRule | None, told_at: datetime) -> datetime:
    if rule is None or not rule.repeat_s:
        return datetime.max.replace(tzinfo=told_at.tzinfo)
    return told_at + timedelta(seconds=rule.repeat_s)


def of_resolved(alert: Alert, about: Circumstances) -> Iterator[Debt]:
    """Each target that was told that the alert fires is told that it is resolved."""
    for notice in about.notices.get(alert.pk, ()):
        target = notice.target
        if notice.resolved_told_at is None and (
            target.kind in ONE_BY_ONE or may_reach(target, alert.severity, about.now)
        ):
            yield Debt(alert, target, News.RESOLVED)


def is_settled(alert: Alert, about: Circumstances) -> bool:
    """Whether nobody is left to be told of a resolved alert."""
    return alert.state == State.RESOLVED and all(
        one.resolved_told_at is not None or not one.target.enabled
        for one in about.notices.get(alert.pk, ())
    )


def is_apart(owed: Collection[Debt], told_at: datetime | None, now: datetime) -> bool:
    """Whether the last notification of a target is so long ago that what is owed to it
    is told now.

    Args:
        owed: all that is owed to the target, of one kind of news.
        told_at: the last notification of the same news; None: not lately.
        now: the current time.
    """
    severities = {one.alert.severity for one in owed}
    is_patient = AlertRule.Severity.CRITICAL not in severities and all(
        one.target.kind in READ_BY_PEOPLE for one in owed
    )
    return told_at is None or now - told_at >= (DIGEST if is_patient else APART)


def may_reach(target: AlertTarget, severity: str, now: datetime) -> bool:
    """Whether a target is enabled, and its quiet hours do not forbid this now."""
    if not target.enabled:
        return False
    passes = target.critical_passes and severity == AlertRule.Severity.CRITICAL
    return passes or not is_quiet(target, now)


def is_quiet(target: AlertTarget, now: datetime) -> bool:
    """Whether it is within the quiet hours of a target, in its time zone.

    Quiet hours may begin before midnight; equal ends are the whole day.
    """
    begins, ends = target.quiet_from, target.quiet_until
    if begins is None or ends is None:
        return False
    at = now.astimezone(ZoneInfo(target.zone)).time()
    if begins < ends:
        return begins <= at < ends
    return at >= begins or at < ends


def silence_of(alert: Alert, silences: Iterable[AlertSilence]) -> AlertSilence | None:
    """The first of the silences that holds for an alert.

    Args:
        alert: the alert.
        silences: those that have begun and not ended.
    """
    return next((one for one in silences if holds_for(one, alert)), None)


def holds_for(silence: AlertSilence, alert: Alert) -> bool:
    return (
        silence.rule_id in (None, alert.rule_id)
        and silence.fingerprint in ("", alert.fingerprint)
        and (
            not silence.queues
            or (bool(alert.queue) and matches(silence.queues, alert.queue))
        )
    )
