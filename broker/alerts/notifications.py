"""Put what is owed as messages on the queue of notifications.

Each is put in the transaction of the change that it tells of. It holds all that is
sent, but no secret; so it can be read where it lies, also as a dead letter.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Max, QuerySet

from broker.alerts.names import QUEUE, ensure_queue
from broker.alerts.owed import (
    DIGEST,
    HEAR_OF_ACKNOWLEDGEMENTS,
    ONE_BY_ONE,
    Circumstances,
    Debt,
    News,
    Recipient,
    debts,
    is_apart,
    is_settled,
)
from broker.models import (
    Alert,
    AlertEvent,
    AlertNotice,
    AlertRule,
    AlertSilence,
    AlertTarget,
)
from broker.problems.causes import Cause, cause_of
from broker.queueing.put import put

TOLD_OF = 50  # most alerts that one notification has in full


def put_owed(alerts: Sequence[Alert], *, now: datetime) -> None:
    """Put the notifications that are owed now: one for each target, with the alerts of
    all rules, and no other within a minute; what is not critical, people get every ten
    minutes.

    Args:
        alerts: those that fire, are acknowledged, or were resolved and not settled.
        now: the current time.
    """
    if not alerts:
        return
    about = circumstances(alerts, now)
    groups: dict[tuple[int, News], list[Debt]] = defaultdict(list)
    for debt in debts(alerts, about):
        groups[debt.target.pk, debt.news].append(debt)
    recent = recently_notified(now) if groups else {}
    for (target_id, news), group in groups.items():
        target = group[0].target
        last = recent.get((target_id, news))
        if target.kind in ONE_BY_ONE or is_apart(group, last, now):
            tell_all([one.alert for one in group], target, news, now=now)
    settle(alerts, now)


def circumstances(alerts: Iterable[Alert], now: datetime) -> Circumstances:
    """What decides who is told. Five queries."""
    ids = [one.pk for one in alerts]
    rules = {one.rule_id for one in alerts if one.rule_id is not None}
    recipients = {
        rule.pk: recipients_of(rule)
        for rule in AlertRule.objects.filter(pk__in=rules).prefetch_related(
            "targets", "escalate_to"
        )
    }
    return Circumstances(recipients, notices_of(ids), list(silences_at(now)), now)


def recipients_of(rule: AlertRule) -> list[Recipient]:
    """Whom a rule tells, and when; a target that it names twice is told at once."""
    now = {one.pk: Recipient(one, 0) for one in rule.targets.all()}
    later = (Recipient(one, rule.escalate_after_s) for one in rule.escalate_to.all())
    return [*now.values(), *(one for one in later if one.target.pk not in now)]


def notices_of(ids: Iterable[int]) -> dict[int, list[AlertNotice]]:
    notices: dict[int, list[AlertNotice]] = defaultdict(list)
    for one in AlertNotice.objects.filter(alert__in=ids).select_related("target"):
        notices[one.alert_id].append(one)
    return notices


def silences_at(now: datetime) -> QuerySet[AlertSilence]:
    """The silences that hold at a time."""
    return AlertSilence.objects.filter(begins_at__lte=now, ends_at__gt=now)


def recently_notified(now: datetime) -> dict[tuple[int, News], datetime]:
    """When each target was last told of each news, as far as it was told lately. Two
    queries."""
    found: dict[tuple[int, News], datetime] = {}
    for field, news in (("told_at", News.FIRING), ("resolved_told_at", News.RESOLVED)):
        recent = AlertNotice.objects.filter(**{f"{field}__gt": now - DIGEST})
        last = recent.values_list("target_id").annotate(Max(field)).order_by()
        found |= {(target_id, news): at for target_id, at in last}
    return found


def tell_all(
    alerts: Sequence[Alert], target: AlertTarget, news: News, *, now: datetime
) -> None:
    """Put one notification, or one for each alert where the target groups itself."""
    parts = [[one] for one in alerts] if target.kind in ONE_BY_ONE else [alerts]
    for part in parts:
        tell(part, target, news, now=now)


def tell(
    alerts: Sequence[Alert], target: AlertTarget, news: News, *, now: datetime
) -> None:
    """Put one notification, and note in each alert's story that it was put."""
    ensure_queue()
    said = document(alerts, target, news, now)
    receipt = put(
        QUEUE,
        json.dumps(said, ensure_ascii=False).encode(),
        content_type="application/json",
        subject=f"{news} {alerts[0].rule_name}"[:200],
        properties={"target": target.name, "news": str(news)},
        now=now,
    )
    words = f"{target.name}: {news}, message {receipt.message_id}"
    AlertEvent.objects.bulk_create(
        AlertEvent(alert=one, at=now, kind=AlertEvent.Kind.NOTIFIED, detail=words)
        for one in alerts
    )
    if news == News.FIRING:
        AlertNotice.objects.bulk_create(
            [AlertNotice(alert=one, target=target, told_at=now) for one in alerts],
            update_conflicts=True,
            unique_fields=["alert", "target"],
            update_fields=["told_at"],
        )
    elif news == News.RESOLVED:
        told = AlertNotice.objects.filter(alert__in=alerts, target=target)
        told.update(resolved_told_at=now)


def tell_acknowledged(alerts: Sequence[Alert], *, now: datetime) -> None:
    """Tell the services that were told that the alerts fire."""
    told = notices_of(one.pk for one in alerts)
    hear: dict[AlertTarget, list[Alert]] = defaultdict(list)
    for one in alerts:
        for notice in told.get(one.pk, ()):
            if notice.target.kind in HEAR_OF_ACKNOWLEDGEMENTS and notice.target.enabled:
                hear[notice.target].append(one)
    for target, those in hear.items():
        tell_all(those, target, News.ACKNOWLEDGED, now=now)


def settle(alerts: Iterable[Alert], now: datetime) -> None:
    """Mark resolved alerts of which everybody has been told."""
    over = [one for one in alerts if one.state == Alert.State.RESOLVED]
    if over:
        told = notices_of([one.pk for one in over])
        about = Circumstances({}, told, (), now)
        settled = [one.pk for one in over if is_settled(one, about)]
        Alert.objects.filter(pk__in=settled).update(is_settled=True)


def document(
    alerts: Sequence[Alert], target: AlertTarget, news: News, now: datetime
) -> dict[str, Any]:
    """All that a notification says, as JSON: the worst cause first, with all its
    alerts. The rule and the severity are those of the first alert."""
    alerts = by_cause(alerts)
    first = alerts[0]
    return {
        "type": f"alert.{news}",
        "timestamp": now.isoformat(),
        "broker": settings.BROKER_NAME,
        "target": {"id": target.pk, "name": target.name},
        "rule": first.rule_name,
        "condition": first.condition,
        "severity": first.severity,
        "total": len(alerts),
        "causes": len({cause_of(one) for one in alerts}),
        "alerts": [alert_document(one) for one in alerts[:TOLD_OF]],
    }


def by_cause(alerts: Sequence[Alert]) -> list[Alert]:
    """The alerts of each cause together, the critical ones first."""
    worst: dict[Cause, str] = {}
    for one in alerts:
        cause = cause_of(one)
        worst[cause] = min(one.severity, worst.get(cause, one.severity))

    def rank(one: Alert) -> tuple[str, Cause, str]:
        cause = cause_of(one)
        return worst[cause], cause, one.severity  # “critical” is before “warning”

    return sorted(alerts, key=rank)


def alert_document(alert: Alert) -> dict[str, Any]:
    times = ("fired_at", "acknowledged_at", "resolved_at")
    return {
        "id": alert.pk,
        "rule": alert.rule_name,
        "condition": alert.condition,
        "severity": alert.severity,
        "cause": cause_of(alert).name,
        "subject": alert.subject,
        "queue": alert.queue,
        "fingerprint": alert.fingerprint,
        "state": alert.state,
        "text": alert.text,
        "value": alert.value,
        "acknowledged_by": alert.acknowledged_by,
        "url": url_of(alert.pk),
        **{
            name: at and at.isoformat()
            for name in times
            for at in [getattr(alert, name)]
        },
    }


def url_of(alert_id: int) -> str:
    """The alert's page; empty if the console's URL is not known."""
    site = settings.BACKOUT_URL.rstrip("/")
    return f"{site}/alerts/{alert_id}/" if site else ""
