"""Makes everything a test needs, with defaults; a test names only what it is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group, Permission, User

from broker import operations
from broker.config import defaults as of_broker
from broker.models import (
    Address,
    AddressSetting,
    Authority,
    Operation,
    Queue,
    RecurringMessage,
    RedactionRule,
    RoutingType,
)
from broker.monitoring.dead_letters import Selection
from broker.operations import Chosen, Order
from broker.queueing.put import NewMessage
from broker.security import authorities

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


def make_queue(
    name: str = "orders",
    *,
    address: str | None = None,
    routing_type: RoutingType = RoutingType.ANYCAST,
    **fields: Any,
) -> Queue:
    """A queue, and its address if that is missing; by default of the same name.

    A console that runs beside the test may have made that of the defaults.
    """
    feeds, _ = Address.objects.get_or_create(name=address or name)
    fields |= {"address": feeds, "routing_type": routing_type}
    if name == of_broker.BROKER_DEAD_LETTER_QUEUE:
        return Queue.objects.update_or_create(name=name, defaults=fields)[0]
    return Queue.objects.create(name=name, **fields)


def make_setting(match: str = "orders", **fields: Any) -> AddressSetting:
    return AddressSetting.objects.create(match=match, **fields)


def make_rule(**fields: Any) -> AddressSetting:
    """Merged settings as a value, for the pure rules; nothing is stored."""
    defaults: dict[str, Any] = {
        "match": "orders",
        "max_delivery_attempts": 10,
        "dead_letter_address": "",
        "redelivery_delay_ms": 0,
        "redelivery_delay_multiplier": 1.0,
        "redelivery_collision_avoidance_factor": 0.0,
        "max_redelivery_delay_ms": None,
    }
    return AddressSetting(**defaults | fields)


def make_redaction(
    name: str, kind: str, target: str, queues: str = "#"
) -> RedactionRule:
    """A rule that masks something of what is on some queues."""
    return RedactionRule.objects.create(
        name=name, kind=kind, target=target, queues=queues
    )


def make_recurring(name: str = "heartbeat", **fields: Any) -> RecurringMessage:
    """A message each minute, the next at noon."""
    given: dict[str, Any] = {"address": "orders", "body": "tick"} | fields
    if "crontab" not in given:
        given.setdefault("every_s", 60)
    one = RecurringMessage.objects.create(name=name, **given)
    RecurringMessage.objects.filter(pk=one.pk).update(next_at=NOON)
    return one


def make_messages(
    count: int, address: str = "orders", **fields: Any
) -> list[NewMessage]:
    """Messages whose bodies are their numbers, from 1."""
    return [
        NewMessage(address, str(number).encode(), **fields)
        for number in range(1, count + 1)
    ]


def make_user(
    name: str = "omar",
    *,
    permissions: tuple[str, ...] = (),
    granted: tuple[authorities.Authority, ...] = authorities.ALL,
    pattern: str = "#",
) -> User:
    """Vera looks, Omar operates, Ada administers; permissions as ``app.codename``.

    Args:
        granted: the authorities they have on the queues of the pattern.
    """
    user = User.objects.create_user(name, password="correct horse")
    if permissions:
        named = [one.split(".")[1] for one in permissions]
        found = Permission.objects.filter(codename__in=named)
        by_name = {
            f"{one.content_type.app_label}.{one.codename}": one
            for one in found.select_related("content_type")
        }
        user.user_permissions.add(*(by_name[name] for name in permissions))
    make_authority(user, *granted, pattern=pattern)
    return user


def make_authority(
    principal: User | Group, *granted: authorities.Authority, pattern: str = "#"
) -> Authority:
    """A row for a user or a group."""
    whose = "group" if isinstance(principal, Group) else "user"
    fields = {authorities.FIELDS[one]: True for one in granted}
    return Authority.objects.create(**{whose: principal}, pattern=pattern, **fields)


def plan_resubmit(
    user: User,
    scope: str,
    selection: Selection | None = None,
    *,
    message_id: int | None = None,
    reason: str = "",
    argument: str = "",
) -> Operation:
    """Plan to resubmit dead letters: of a selection, one message, or all."""
    ids = () if message_id is None else (message_id,)
    chosen = Chosen(ids=ids, letters=selection or Selection())
    order = Order(Operation.Kind.RESUBMIT, argument)
    return operations.plan(user, order, chosen, scope=scope, reason=reason)
