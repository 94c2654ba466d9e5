"""Alerts, their rules, targets and silences, and recurring messages, in which every
text that anybody can fill is a payload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from django.utils import timezone

from broker.models import (
    Alert,
    AlertEvent,
    AlertRule,
    AlertSilence,
    AlertTarget,
    RecurringMessage,
)
from tests.console.hostile import EVIL, HEADS, WHOLE

Filled = Callable[[str, str], str]
HOUR = timedelta(hours=1)
FITTING = [one for one in (EVIL, *HEADS) if len(one) <= 40]  # in a name, with its tag


def make_alerts(filled: Filled, texts: Sequence[str]) -> None:
    """An alert of each payload; a rule, a target and a silence of each that is short.

    Args:
        filled: a payload with the name of its field.
        texts: payloads where there is room.
    """
    for payload in FITTING:
        rule = AlertRule.objects.create(
            name=filled(payload, "alert_rule"),
            condition="depth",
            queues=filled(payload, "alert_queues"),
        )
        target = AlertTarget.objects.create(
            name=filled(payload, "target"),
            kind="email",
            address=filled(payload, "mail"),
            error=filled(WHOLE, "mail_error"),
            error_at=timezone.now(),
        )
        rule.targets.add(target)
        rule.escalate_to.add(target)
        make_silence(filled, payload, rule)
    for payload in texts:
        make_alert(filled, payload, rule)


def make_silence(filled: Filled, payload: str, rule: AlertRule) -> None:
    AlertSilence.objects.create(
        rule=rule,
        queues=filled(payload, "silenced_queues"),
        reason=filled(WHOLE, "silence_reason"),
        by=filled(payload, "silenced_by"),
        ends_at=timezone.now() + HOUR,
    )


def make_alert(filled: Filled, payload: str, rule: AlertRule) -> None:
    now = timezone.now()
    names = ("rule_name", "queue", "subject", "text", "acknowledged_by")
    alert = Alert.objects.create(
        rule=rule,
        condition="depth",
        severity="warning",
        state="firing",
        value=5,
        first_seen_at=now,
        last_seen_at=now,
        fired_at=now,
        acknowledged_at=now,
        **{name: filled(payload, f"alert_{name}") for name in names},
    )
    AlertEvent.objects.create(
        alert=alert,
        at=now,
        kind="failed",
        actor=filled(payload, "alert_actor"),
        detail=filled(payload, "alert_detail"),
    )


def make_recurring(filled: Filled) -> None:
    for payload in FITTING:
        RecurringMessage.objects.create(
            name=filled(payload, "recurring"),
            address=filled(payload, "recurring_address"),
            body=filled(WHOLE, "recurring_body"),
            content_type=filled(payload, "recurring_type"),
            subject=filled(payload, "recurring_subject"),
            properties={filled(payload, "recurring_key"): filled(payload, "said")},
            every_s=60,
            problem=filled(WHOLE, "recurring_problem"),
        )
