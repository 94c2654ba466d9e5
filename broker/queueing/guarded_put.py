"""Puts that need a check first: for guarded queues, and for arrival rules of the
address."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction

from broker.errors import NoSuchAddress
from broker.formats.selectors import document, parse
from broker.models import Queue, RoutingType
from broker.queueing.arrival_expiry import look_at
from broker.queueing.limits import refusal
from broker.queueing.store import NewMessage, Receipt, store


def put_guarded(
    address: str,
    messages: Sequence[NewMessage],
    *,
    now: datetime | None,
    **rest: Any,
) -> list[Receipt]:
    """Put messages to an address that has an arrival rule or guarded queues. One query
    reads the rule, one the guarded queues.

    If a guarded queue cannot take a message, the put of all messages is refused, unless
    another anycast queue takes the message. A queue only checks messages that its
    routing type and selector accept.

    Raises:
        NoSuchAddress: the address does not exist.
    """
    look = look_at(address)
    messages = look.applied(messages, now=now)
    if look.is_guarded is False:
        receipts = store(address, messages, looked=True, now=now, **rest)
    else:
        with transaction.atomic():
            receipts = put_past(guards_of(address), address, messages, now=now, **rest)
    if messages and not receipts:
        raise NoSuchAddress(address)
    return receipts


def put_past(
    guards: Sequence[Queue], address: str, messages: Sequence[NewMessage], **rest: Any
) -> list[Receipt]:
    """Store messages on the queues that do not refuse them.

    One statement for each run of messages that are refused by the same queues: message
    ids must ascend in the order of the messages.
    """
    refusing = [refused_by(guards, message) for message in messages]
    full: set[int] = set()
    for guard in guards:
        sizes = [
            message.size_bytes
            for message, refused in zip(messages, refusing, strict=True)
            if guard.pk not in refused
        ]
        error = refusal(guard, sizes) if sizes else None
        if error is not None:
            full.add(guard.pk)
            if not has_another(address, guard, full):
                raise error
    receipts: list[Receipt] = []
    for refused, part in groupby(
        zip(refusing, messages, strict=True), key=itemgetter(0)
    ):
        alike = [message for _, message in part]
        ids = sorted(refused | full)
        receipts += store(address, alike, looked=True, refusing_ids=ids, **rest)
    return receipts


def guards_of(address: str) -> list[Queue]:
    """The guarded queues of an address, locked against other puts."""
    guarded = Queue.objects.filter(address__name=address, guarded=True)
    return list(guarded.order_by("pk").select_for_update(of=("self",), no_key=True))


def refused_by(guards: Sequence[Queue], message: NewMessage) -> frozenset[int]:
    """The queues that do not accept a message."""
    if not guards:
        return frozenset()
    known = document(message)
    return frozenset(guard.pk for guard in guards if not wants(guard, message, known))


def has_another(address: str, guard: Queue, full: Collection[int]) -> bool:
    """Whether an address has another anycast queue."""
    if guard.routing_type != RoutingType.ANYCAST:
        return False
    anycast = Queue.objects.filter(
        address__name=address, routing_type=guard.routing_type
    )
    return anycast.exclude(pk__in=full).exists()


def wants(guard: Queue, message: NewMessage, known: Mapping[str, object]) -> bool:
    """Whether routing type and selector send a message to a queue.

    Args:
        guard: the queue.
        message: the message.
        known: the values of the message for the names in a selector.
    """
    if message.routing_type not in (None, guard.routing_type):
        return False
    return not guard.selector or parse(guard.selector).matches(known) is True
