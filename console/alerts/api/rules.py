"""Rules of alerts and their targets: read, define and remove each by its name.

A definition is complete: missing fields get their defaults. A secret is write-only.
"""

from __future__ import annotations

from datetime import datetime, time
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Path, Router, Schema
from pydantic import Field

from broker.acts.alerts import send_test_notification
from broker.acts.objects import find_rule, find_target
from broker.alerts import editing, sight
from broker.errors.alerts import InvalidAlert
from broker.formats.quantities import read_duration, write_stored
from broker.models import AlertRule, AlertTarget
from console.edges.rest.acts import serve
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.requests import RequestBody

router = Router(tags=["alerts"])
DURATIONS = {  # fields of a rule that are seconds, by their names here
    "within": "within_s",
    "held_for": "for_s",
    "repeat_every": "repeat_s",
    "escalate_after": "escalate_after_s",
}


class RuleFields(RequestBody):
    """A rule. Times have units: ``10 min``."""

    condition: str = Field(max_length=20, pattern=NO_NUL)
    queues: str = Field(default="#", max_length=255, pattern=NO_NUL)
    # messages; seconds for the condition age; percent for disk
    threshold: int = Field(default=0, ge=0, lt=2**62)
    within: str = Field(default="1 h", max_length=40, pattern=NO_NUL)
    held_for: str = Field(default="0 s", max_length=40, pattern=NO_NUL)
    severity: Literal["warning", "critical"] = "warning"
    targets: list[str] = Field(default=[], max_length=50)
    escalate_to: list[str] = Field(default=[], max_length=50)
    escalate_after: str = Field(default="15 min", max_length=40, pattern=NO_NUL)
    repeat_every: str = Field(default="4 h", max_length=40, pattern=NO_NUL)
    enabled: bool = True


class AlertRuleState(Schema):
    """A stored rule."""

    name: str
    condition: str
    queues: str
    threshold: int
    within: str
    held_for: str
    severity: str
    targets: list[str]
    escalate_to: list[str]
    escalate_after: str
    repeat_every: str
    enabled: bool


class AlertRules(Schema):
    rules: list[AlertRuleState]


class TargetFields(RequestBody):
    """A target. Without ``secret``, the stored one stays."""

    kind: Literal["email", "webhook", "slack", "pagerduty"]
    address: str = Field(default="", max_length=500, pattern=NO_NUL)
    secret: str = Field(default="", max_length=1000, pattern=NO_NUL)
    enabled: bool = True
    quiet_from: time | None = None
    quiet_until: time | None = None
    zone: str = Field(default="UTC", max_length=60, pattern=NO_NUL)
    critical_passes: bool = True


class AlertTargetState(Schema):
    """A stored target, without its secret."""

    name: str
    kind: str
    address: str
    has_secret: bool
    enabled: bool
    quiet_from: time | None
    quiet_until: time | None
    zone: str
    critical_passes: bool
    told_at: datetime | None  # last success
    error: str  # of the last attempt; empty: it succeeded
    error_at: datetime | None


class AlertTargets(Schema):
    targets: list[AlertTargetState]


@router.get("/alert-rules", response={200: AlertRules, **REFUSED}, summary="Rules")
def list_alert_rules(request: HttpRequest) -> dict[str, Any]:
    """All rules, by name."""
    require(request, sight.VIEW)
    rules = AlertRule.objects.prefetch_related("targets", "escalate_to")
    return {"rules": [rule_document(one) for one in rules]}


@router.put(
    "/alert-rules/{queue:alert_rule}",
    response={200: AlertRuleState, **REFUSED},
    summary="Define a rule",
)
def define_alert_rule(
    request: HttpRequest, alert_rule: Path[str], sent: RuleFields
) -> dict[str, Any]:
    """Creates the rule, or replaces it. Alerts that fire go on."""
    fields = sent.dict(exclude={"targets", "escalate_to"})
    for said, field in DURATIONS.items():
        fields[field] = seconds(said, fields.pop(said))
    exists = AlertRule.objects.filter(name=alert_rule).exists()
    require(request, f"broker.{'change' if exists else 'add'}_alertrule")
    rule = editing.save_rule(
        alert_rule, fields, targets=sent.targets, escalate_to=sent.escalate_to
    )
    return rule_document(rule)


@router.delete(
    "/alert-rules/{queue:alert_rule}",
    response={200: AlertRuleState, **REFUSED},
    summary="Remove a rule",
)
def remove_alert_rule(request: HttpRequest, alert_rule: Path[str]) -> dict[str, Any]:
    """Removes the rule and returns it. Its alerts are resolved."""
    require(request, "broker.delete_alertrule")
    rule = find_rule(alert_rule)
    said = rule_document(rule)
    editing.delete(rule)
    return said


@router.get(
    "/alert-targets", response={200: AlertTargets, **REFUSED}, summary="Targets"
)
def list_alert_targets(request: HttpRequest) -> dict[str, Any]:
    """All targets, by name; without secrets."""
    require(request, sight.TARGETS)
    return {"targets": [target_document(one) for one in AlertTarget.objects.all()]}


@router.put(
    "/alert-targets/{queue:alert_target}",
    response={200: AlertTargetState, **REFUSED},
    summary="Define a target",
)
def define_alert_target(
    request: HttpRequest, alert_target: Path[str], sent: TargetFields
) -> dict[str, Any]:
    """Creates the target, or replaces it."""
    exists = AlertTarget.objects.filter(name=alert_target).exists()
    require(request, f"broker.{'change' if exists else 'add'}_alerttarget")
    fields = sent.dict(exclude={"secret"})
    return target_document(
        editing.save_target(alert_target, fields, secret=sent.secret)
    )


@router.delete(
    "/alert-targets/{queue:alert_target}",
    response={200: AlertTargetState, **REFUSED},
    summary="Remove a target",
)
def remove_alert_target(
    request: HttpRequest, alert_target: Path[str]
) -> dict[str, Any]:
    """Removes the target and returns it; rules name it no longer."""
    require(request, "broker.delete_alerttarget")
    target = find_target(alert_target)
    said = target_document(target)
    editing.delete(target)
    return said


serve(
    router,
    "POST",
    "/alert-targets/{queue:alert_target}/test",
    send_test_notification,
    alert_target="target",
)


def seconds(field: str, text: str) -> int:
    try:
        return read_duration(text.strip() or "0")
    except ValueError as error:
        raise InvalidAlert(field, str(error)) from None


def rule_document(rule: AlertRule) -> dict[str, Any]:
    names = ("name", "condition", "queues", "threshold", "severity", "enabled")
    return {
        **{name: getattr(rule, name) for name in names},
        "within": write_stored(rule.within_s, "_s"),
        "held_for": write_stored(rule.for_s, "_s"),
        "repeat_every": write_stored(rule.repeat_s, "_s"),
        "escalate_after": write_stored(rule.escalate_after_s, "_s"),
        "targets": [one.name for one in rule.targets.all()],
        "escalate_to": [one.name for one in rule.escalate_to.all()],
    }


def target_document(target: AlertTarget) -> dict[str, Any]:
    names = [name for name in AlertTargetState.model_fields if name != "has_secret"]
    return {
        **{name: getattr(target, name) for name in names},
        "has_secret": bool(target.secret),
    }
