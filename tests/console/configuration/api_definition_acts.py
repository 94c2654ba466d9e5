"""What the API defines, changes and deletes, as ``acts`` has the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.test import Client
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from broker.models import Act, Address, ModelQueue, QueueAlias
from dashboards.pages import schedules
from tests.console.own_acts import Case
from tests.make import (
    make_authority,
    make_queue,
    make_recurring,
    make_redaction,
    make_setting,
)

API = "/api/v1"
Values = dict[str, Any]
# Of each kind: its URL, how one is made, and what of it is defined and changed.
KINDS: dict[str, tuple[str, Callable[[], object], Values]] = {
    "queue": ("queues/orders", lambda: make_queue(address="shop"), {"max_depth": 7}),
    "address": (
        "addresses/orders",
        lambda: Address.objects.create(name="orders"),
        {"durable_model": "M"},
    ),
    "alias": (
        "aliases/OLD",
        lambda: QueueAlias.objects.create(name="OLD", target="orders"),
        {"target": "answers"},
    ),
    "model": (
        "models/M",
        lambda: ModelQueue.objects.create(name="M"),
        {"max_depth": 7},
    ),
    "setting": (
        "settings/orders",
        lambda: make_setting("orders", max_delivery_attempts=3),
        {"redelivery_delay_ms": 5000},
    ),
    "redaction_rule": (
        "redaction-rules/PII-3",
        lambda: make_redaction("PII-3", "hl7", "PID-5"),
        {"kind": "hl7", "target": "PID-7"},
    ),
    "recurring_message": (
        "recurring-messages/heartbeat",
        make_recurring,
        {"address": "orders", "every_s": "90 s"},
    ),
    "report_schedule": (
        "report-schedules/Mondays",
        lambda: make_schedule("Mondays"),
        {"report": "dead-letters", "crontab": "30 6 * * 1"},
    ),
    "user": (
        "users/shop",
        lambda: User.objects.create_user("shop"),
        {"email": "shop@example.org"},
    ),
    "authority": (
        "authorities/user~3Ashop/orders",
        lambda: make_authority(User.objects.get(username="shop"), pattern="orders"),
        {"may": ["put"]},
    ),
}


def make_schedule(name: str) -> PeriodicTask:
    when = CrontabSchedule.objects.create(minute="10", hour="2", timezone="UTC")
    task = schedules.TASK
    return PeriodicTask.objects.create(name=name, task=task, crontab=when)


def act(kind: str, deed: Act) -> Callable[[Client], Case]:
    path, make, values = KINDS[kind]

    def case(_: Client) -> Case:
        if kind == "authority":
            User.objects.create_user("shop")
        if deed != Act.CREATE:
            make()
        elif kind == "queue":
            Address.objects.create(name="orders")
        said = {} if deed == Act.DELETE else values
        return f"{API}/{path}", said, deed

    return case


DEEDS = {"define": Act.CREATE, "change": Act.CHANGE, "delete": Act.DELETE}
OPERATIONS: dict[str, Callable[[Client], Case]] = {
    **{
        f"{verb}_{kind}": act(kind, deed)
        for kind in KINDS
        for verb, deed in DEEDS.items()
    },
}
