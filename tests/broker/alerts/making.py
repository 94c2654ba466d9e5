"""Rules, targets and alerts for tests."""

from __future__ import annotations

import json
from typing import Any

from broker.alerts.evaluation import evaluate
from broker.alerts.names import QUEUE
from broker.bridges import secrets
from broker.models import Alert, AlertRule, AlertTarget, Message
from broker.queueing.put import put_many
from broker.transactions.scope import unit_of_work
from tests.make import NOON, make_messages, make_queue, minutes

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
Condition = AlertRule.Condition


def make_alert_rule(
    condition: Condition = Condition.DEPTH,
    *targets: AlertTarget,
    name: str = "deep",
    threshold: int = 1,
    escalate_to: AlertTarget | None = None,
    **fields: Any,
) -> AlertRule:
    rule = AlertRule.objects.create(
        name=name, condition=condition, threshold=threshold, **fields
    )
    rule.targets.set(targets)
    if escalate_to:
        rule.escalate_to.add(escalate_to)
    return rule


def make_target(
    name: str = "hook", kind: str = "webhook", *, secret: str = SECRET, **fields: Any
) -> AlertTarget:
    return AlertTarget.objects.create(
        name=name, kind=kind, secret=secrets.encrypt(secret), **fields
    )


def make_firing(*targets: AlertTarget, **fields: Any) -> Alert:
    """A queue with a message, and the alert about it."""
    make_queue("orders")
    put_many(make_messages(1), now=NOON)
    make_alert_rule(Condition.DEPTH, *targets, **fields)
    evaluate(now=NOON)
    return Alert.objects.get()


def empty(queue: str = "orders") -> None:
    """Take all messages from a queue."""
    with unit_of_work(now=NOON) as work:
        work.get(queue, 1000)


def notifications() -> list[dict[str, Any]]:
    """All that was put to be delivered, the first first."""
    put = Message.objects.filter(address=QUEUE).order_by("pk")
    return [json.loads(bytes(body)) for body in put.values_list("body", flat=True)]


def told() -> list[tuple[str, str, int]]:
    """Whom they are for, what they tell, and of how many alerts."""
    return [
        (one["target"]["name"], one["type"].removeprefix("alert."), one["total"])
        for one in notifications()
    ]


def at(after: float) -> list[tuple[str, str, int]]:
    """Evaluate some minutes after noon; what has been put since then."""
    before = len(told())
    evaluate(now=NOON + minutes(after))
    return told()[before:]
