"""Compare what rules find with the open alerts, and put the notifications owed.

One transaction, and one process at a time. Time is the database's. An evaluation in
which nothing changes writes nothing, but for the time at which an alert was last seen.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import QuerySet

from broker import sql
from broker.alerts import notifications
from broker.alerts.names import OWN
from broker.models import Alert, AlertEvent, AlertRule, AlertSilence
from broker.problems.conditions import table
from broker.problems.problem import LONGEST, Bound, Problem
from broker.problems.readings import MOST, Readings
from broker.sql.fencing import short_transaction

EVERY_S = 10.0
LOCK_CLASS = 0x424C  # first key of the advisory lock
SEEN_EVERY = timedelta(seconds=30)  # how often ``last_seen_at`` is written
# An alert is resolved when its problem was not seen for this long.
CLEAR_AFTER = timedelta(minutes=1)
State, Happened = Alert.State, AlertEvent.Kind


@short_transaction()
def evaluate(*, now: datetime | None = None) -> bool:
    """Evaluate all enabled rules once.

    Args:
        now: the current time; the database's clock when not given.

    Returns:
        Whether it was done: another process may be at it.
    """
    is_our_turn, at = sql.fetch_one("take_alerts_turn", lock_class=LOCK_CLASS)
    if not is_our_turn:
        return False
    at = now or at
    rules = list(AlertRule.objects.filter(enabled=True))
    alerts = list(unsettled().select_for_update(of=("self",)))
    seen = Readings(at)
    found = {rule.pk: of_rule(rule, seen) for rule in rules}
    alerts = reconcile(rules, found, alerts, at)
    notifications.put_owed(alerts, now=at)
    return True


def of_rule(rule: AlertRule, seen: Readings) -> list[Problem]:
    """The problems of one rule, the worst first, and at most ``MOST``."""
    # None: the application that defined the condition is not installed any more.
    condition = table().get(rule.condition)
    found = condition.found(seen, Bound.of(rule)) if condition else ()
    every = {one.subject: one for one in found if OWN.isdisjoint((one.of, *one.queues))}
    return heapq.nlargest(MOST, every.values(), key=lambda one: one.value)


def unsettled() -> QuerySet[Alert]:
    """The alerts that are not over, or of which somebody is still to be told."""
    return Alert.objects.filter(is_settled=False).select_related("rule").order_by("pk")


def reconcile(
    rules: Iterable[AlertRule],
    found: dict[int, list[Problem]],
    alerts: Iterable[Alert],
    now: datetime,
) -> list[Alert]:
    """Bring the alerts in line with what was found.

    Returns:
        The alerts about which somebody may have to be told.
    """
    done = [one for one in alerts if one.state == State.RESOLVED]
    left = {one.pk: one for one in alerts if one.state in Alert.OPEN}
    known = {(one.rule_id, one.subject): one for one in left.values() if one.rule_id}
    for rule in rules:
        for finding in found[rule.pk]:
            alert = known.get((rule.pk, finding.subject[:LONGEST]))
            if alert is None:
                done.append(begin(rule, finding, now))
            else:
                go_on(alert, rule, finding, now)
                done.append(left.pop(alert.pk))
    active = {rule.pk for rule in rules}
    for alert in left.values():
        if end(alert, now, at_once=alert.rule_id not in active):
            done.append(alert)
    return [one for one in done if one.state != State.PENDING]


def begin(rule: AlertRule, finding: Problem, now: datetime) -> Alert:
    """A new alert; it fires at once, or after the duration of its rule."""
    alert = Alert(
        rule=rule,
        rule_name=rule.name,
        condition=rule.condition,
        subject=finding.subject[:LONGEST],
        queue=queue_of(finding),
        fingerprint=finding.fingerprint,
        state=State.PENDING,
        first_seen_at=now,
    )
    note(alert, rule, finding, now)
    alert.save()
    if not rule.for_s:
        fire(alert, now)
    return alert


def queue_of(finding: Problem) -> str:
    """The queue of an alert: who may see the queue may see the alert. Empty for an
    alert on a link, for which a user must see all queues of the link."""
    is_of_link = table()[finding.condition].needs_each_queue
    return "" if is_of_link or not finding.queues else finding.queues[0]


def go_on(alert: Alert, rule: AlertRule, finding: Problem, now: datetime) -> None:
    if alert.state == State.PENDING:
        if (now - alert.first_seen_at).total_seconds() >= rule.for_s:
            note(alert, rule, finding, now)
            fire(alert, now)
    elif now - alert.last_seen_at >= SEEN_EVERY or alert.severity != rule.severity:
        note(alert, rule, finding, now)
        alert.save()


def note(alert: Alert, rule: AlertRule, finding: Problem, now: datetime) -> None:
    alert.severity = rule.severity
    alert.text = finding.text[:LONGEST]
    alert.value = finding.value
    alert.last_seen_at = now


def fire(alert: Alert, now: datetime) -> None:
    alert.state = State.FIRING
    alert.fired_at = now
    alert.save()
    tell(alert, Happened.FIRED, now, alert.text)


def end(alert: Alert, now: datetime, *, at_once: bool) -> bool:
    """What was not found: a pending alert goes, another is resolved after a while.

    Args:
        at_once: its rule was removed or disabled.

    Returns:
        Whether the alert is still there.
    """
    if alert.state == State.PENDING:
        alert.delete()
        return False
    if at_once or now - alert.last_seen_at >= CLEAR_AFTER:
        alert.state = State.RESOLVED
        alert.resolved_at = now
        alert.save()
        why = "Its rule was removed or disabled." if at_once else ""
        tell(alert, Happened.RESOLVED, now, why)
    return True


def tell(
    alert: Alert, kind: AlertEvent.Kind, now: datetime, detail: str, actor: str = ""
) -> None:
    """Append an event to the alert's story."""
    AlertEvent.objects.create(
        alert=alert, at=now, kind=kind, detail=detail, actor=actor
    )


def forget_old(*, limit: int, days: int, now: datetime | None = None) -> int:
    """Delete alerts that were resolved long ago, and silences that are over.

    Args:
        limit: the largest number of alerts.
        days: how long they are kept.
        now: the current time; the database's clock when not given.

    Returns:
        The number of deleted alerts.
    """
    before = (now or sql.database_now()) - timedelta(days=days)
    AlertSilence.objects.filter(ends_at__lt=before).delete()
    old = Alert.objects.filter(is_settled=True, resolved_at__lt=before)
    found = list(old.order_by("pk").values_list("pk", flat=True)[:limit])
    Alert.objects.filter(pk__in=found).delete()
    return len(found)
