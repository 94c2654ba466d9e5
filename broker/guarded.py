"""Sending where somebody has to look first, at guarded queues and rules of arrival."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from broker.arrival_rules import applied
from broker.capacity import guards_of, refusal
from broker.errors import NoSuchAddress
from broker.models import Queue, RoutingType
from broker.selectors import document, parse
from broker.storing import NewMessage, Receipt, store


def put_guarded(
    address: str,
    messages: Sequence[NewMessage],
    *,
    now: datetime | None,
    **rest: Any,
) -> list[Receipt]:
    """The same where a queue of the address has to be asked.

    A queue that cannot take them refuses the put for all, unless another anycast queue
    stands in; a message that is not for it just passes it by.
    """
    guards = guards_of(address)
    if guards is None:
        raise NoSuchAddress(address)
    messages = applied(address, messages, now=now)
    refusing = [
        [guard.pk for guard in guards if not wants(guard, message)]
        for message in messages
    ]
    full: list[int] = []
    for guard in guards:
        sizes = [
            message.size_bytes
            for message, refusers in zip(messages, refusing, strict=True)
            if guard.pk not in refusers
        ]
        error = refusal(guard, sizes) if sizes else None
        if error is not None:
            full.append(guard.pk)
            if not has_another(address, guard, full):
                raise error
    refusing = [[*refusers, *full] for refusers in refusing]
    receipts: list[Receipt] = []
    for refusers, part in groupby(
        zip(refusing, messages, strict=True), key=itemgetter(0)
    ):
        alike = [message for _, message in part]
        receipts += store(
            address, alike, looked=True, refusing_ids=refusers, now=now, **rest
        )
    return receipts


def has_another(address: str, guard: Queue, full: Sequence[int]) -> bool:
    """Whether an address has another anycast queue in place of this one."""
    if guard.routing_type != RoutingType.ANYCAST:
        return False
    anycast = Queue.objects.filter(
        address__name=address, routing_type=guard.routing_type
    )
    return anycast.exclude(pk__in=full).exists()


def wants(guard: Queue, message: NewMessage) -> bool:
    """Whether a message is for a queue: by its routing type, and the selector."""
    if message.routing_type not in (None, guard.routing_type):
        return False
    return (
        not guard.selector or parse(guard.selector).matches(document(message)) is True
    )
