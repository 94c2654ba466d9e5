"""Consumer loops in tests: how they fail, and what they leave behind."""

from __future__ import annotations

from typing import Any

from broker.client import consumer
from broker.models import Claim, Event, Kind, Ready
from broker.monitoring import fsck


class Failed(Exception):
    """The error of a body."""


def drained(**options: Any) -> list[bytes]:
    """The bodies of what is ready, each accepted."""
    with consumer("orders", timeout_s=0, **options) as deliveries:
        return [delivery.body for delivery in deliveries]


def backouts() -> list[int]:
    """The backout counts of what is ready, in the order of arrival."""
    return list(Ready.objects.order_by("id").values_list("backout_count", flat=True))


def accepted() -> list[int]:
    return [n for one in Event.objects.filter(kind=Kind.ACCEPT) for n in one.ids]


def is_clean() -> bool:
    """Whether no message is held, and the books are right."""
    return not Claim.objects.exists() and fsck.violations() == []
