"""What pages and the API change of alerts, as ``acts`` has the rest."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.test import Client
from django.utils import timezone

from broker.alerts import acts
from broker.models import Act, Alert, AlertRule, AlertSilence, AlertTarget
from tests.console.letters import die, make_places
from tests.console.own_acts import Case, at

API = "/api/v1"
HOUR = timedelta(hours=1)
RULE = {"condition": "depth", "threshold": 5, "for_s": "5 min", "targets": ["ops"]}
TARGET = {"kind": "email", "address": "ops@example.org"}


def make_alert(
    queue: str = "orders", *, rule: AlertRule | None = None, condition: str = "depth"
) -> Alert:
    now = timezone.now()
    if rule is None:
        rule, _ = AlertRule.objects.get_or_create(
            name="deep", defaults={"condition": "depth", "threshold": 1}
        )
    return Alert.objects.create(
        rule=rule, rule_name=rule.name, condition=condition, severity="warning",
        subject=queue, queue=queue, state="firing", text=f"{queue}: 5 messages.",
        value=5, first_seen_at=now, last_seen_at=now, fired_at=now,
    )  # fmt: skip


def make_silence(queue: str = "orders") -> AlertSilence:
    return acts.silence(timezone.now() + HOUR, queues=queue)


def make_mail_target(name: str = "ops") -> AlertTarget:
    return AlertTarget.objects.create(name=name, **TARGET)


def make_alerts(queue: str = "orders") -> dict[str, Any]:
    """One of each, by the name of it in URLs."""
    return {
        "alert_id": make_alert(queue).pk,
        "silence_id": make_silence().pk,
        "alert_rule": "deep",
        "alert_target": make_mail_target().name,
    }


def acknowledge(_: Client) -> Case:
    where = at("console:acknowledge_alert", make_alert().pk)
    return where, {}, Act.ACKNOWLEDGE_ALERT


def acknowledge_several(_: Client) -> Case:
    said = {"alerts": str(make_alert().pk)}
    return at("console:acknowledge_alerts"), said, Act.ACKNOWLEDGE_ALERT


def silence(_: Client) -> Case:
    said = {"until": "1 h", "scope": "queue"}
    return at("console:silence_alert", make_alert().pk), said, Act.SILENCE_ALERTS


def silence_cause(_: Client) -> Case:
    make_places()
    where = at("console:silence_cause", die().fingerprint)
    return where, {"until": "1 h"}, Act.SILENCE_ALERTS


def end_silence(_: Client) -> Case:
    return at("console:end_silence", make_silence().pk), {}, Act.END_SILENCE


def try_target(_: Client) -> Case:
    return at("console:send_test", make_mail_target().name), {}, Act.TEST_TARGET


def api_acknowledge(_: Client) -> Case:
    where = f"{API}/alerts/{make_alert().pk}/acknowledge"
    return where, {"reason": "on it"}, Act.ACKNOWLEDGE_ALERT


def api_acknowledge_several(_: Client) -> Case:
    said = {"alerts": [make_alert().pk]}
    return f"{API}/alerts/acknowledge", said, Act.ACKNOWLEDGE_ALERT


def api_silence(_: Client) -> Case:
    said = {"until": "4 h", "queue": "orders"}
    return f"{API}/alert-silences", said, Act.SILENCE_ALERTS


def api_end_silence(_: Client) -> Case:
    return f"{API}/alert-silences/{make_silence().pk}/end", {}, Act.END_SILENCE


def api_define_rule(_: Client) -> Case:
    make_mail_target()
    return f"{API}/alert-rules/new", RULE, Act.CREATE


def api_remove_rule(_: Client) -> Case:
    make_alert()
    return f"{API}/alert-rules/deep", {}, Act.DELETE


def api_define_target(_: Client) -> Case:
    return f"{API}/alert-targets/ops", TARGET, Act.CREATE


def api_remove_target(_: Client) -> Case:
    make_mail_target()
    return f"{API}/alert-targets/ops", {}, Act.DELETE


def api_change_rule(_: Client) -> Case:
    make_alert()
    return f"{API}/alert-rules/deep", {"threshold": 5}, Act.CHANGE


def api_change_target(_: Client) -> Case:
    make_mail_target()
    return f"{API}/alert-targets/ops", {"enabled": False}, Act.CHANGE


def api_test_target(_: Client) -> Case:
    make_mail_target()
    return f"{API}/alert-targets/ops/test", {}, Act.TEST_TARGET


PAGES: dict[str, Callable[[Client], Case]] = {
    "console:acknowledge_alert": acknowledge,
    "console:acknowledge_alerts": acknowledge_several,
    "console:silence_alert": silence,
    "console:silence_cause": silence_cause,
    "console:end_silence": end_silence,
    "console:send_test": try_target,
}
OPERATIONS: dict[str, Callable[[Client], Case]] = {
    "acknowledge_alert": api_acknowledge,
    "acknowledge_alerts": api_acknowledge_several,
    "silence_alerts": api_silence,
    "end_alert_silence": api_end_silence,
    "define_alert_rule": api_define_rule,
    "delete_alert_rule": api_remove_rule,
    "define_alert_target": api_define_target,
    "change_alert_rule": api_change_rule,
    "change_alert_target": api_change_target,
    "delete_alert_target": api_remove_target,
    "send_test_notification": api_test_target,
}
