"""Put messages. A put is part of the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from broker.errors.mq_codes import Feedback, Reason, Report
from broker.formats.mq.report_options import asks_for, unknown
from broker.queueing import notifications, tracing
from broker.queueing.guarded_put import put_guarded
from broker.queueing.report_messages import send_all
from broker.queueing.store import NewMessage, Receipt, check, store
from broker.queueing.unroutable import redirect

__all__ = ["NewMessage", "Receipt", "put", "put_as_given", "put_many", "put_to"]

CHUNK = 1000  # most messages of one statement, so that arrays of ids stay short


def put(
    address: str, body: bytes = b"", *, now: datetime | None = None, **fields: Any
) -> Receipt:
    """Put one message; ``fields`` are those of ``NewMessage``.

    Inside ``transaction.atomic()`` the message is committed with the caller's own rows,
    or not at all. A message that no queue takes is discarded, and its receipt names no
    queue.

    Raises:
        NoSuchAddress: the address does not exist.
        MessageTooLarge: the body is above ``BROKER_MAX_MESSAGE_BYTES``.
        InvalidMessage: a header holds NUL, or a property is not JSON.
    """
    message = NewMessage(address, body, **fields)
    (receipt,) = tracing.put([message], partial(put_to, address, now=now))
    return receipt


def put_many(
    messages: Sequence[NewMessage],
    *,
    uow: int | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> list[Receipt]:
    """Put messages, all or none; one round trip for each address and each thousand.

    Returns:
        Receipts in the order of the messages. The message ids of one address ascend in
        the same order.
    """
    store = partial(put_as_given, uow=uow, actor=actor, now=now)
    return tracing.put(messages, store)


def put_as_given(
    messages: Sequence[NewMessage],
    *,
    uow: int | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> list[Receipt]:
    """As ``put_many``, but messages get no trace context: they come from elsewhere, or
    have it already."""
    if is_one_statement(messages):
        return put_to(messages[0].address, messages, uow=uow, actor=actor, now=now)
    by_address: dict[str, list[int]] = defaultdict(list)
    for place, message in enumerate(messages):
        by_address[message.address].append(place)
    receipts: dict[int, Receipt] = {}
    with transaction.atomic():
        for address, places in by_address.items():
            for start in range(0, len(places), CHUNK):
                chunk = places[start : start + CHUNK]
                stored = put_to(
                    address, [messages[i] for i in chunk], uow=uow, actor=actor, now=now
                )
                receipts.update(zip(chunk, stored, strict=True))
    return [receipts[place] for place in range(len(messages))]


def is_one_statement(messages: Sequence[NewMessage]) -> bool:
    """Whether one statement stores all messages, or none if no queue accepts them.

    Such a put needs no transaction around it, and no savepoint in the caller's, which
    saves two round trips. If a check comes first, ``put_to`` opens a transaction.
    """
    return (
        0 < len(messages) <= CHUNK
        and len({(one.address, one.routing_type) for one in messages}) == 1
    )


def put_to(
    address: str,
    messages: Sequence[NewMessage],
    *,
    uow: int | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> list[Receipt]:
    """Put at most ``CHUNK`` messages to one address."""
    check(messages)
    about: dict[str, Any] = {"uow": uow, "actor": actor, "now": now}
    described = any(one.descriptor for one in messages)
    if described and any(asks_for(Report.COA, one) for one in messages):
        with transaction.atomic():
            receipts = route(address, messages, confirms=True, **about)
    else:
        receipts = route(address, messages, **about)
    if described:
        warn(messages, receipts)
    notifications.announce_on_commit({q for one in receipts for q in one.queue_ids})
    return receipts


def route(
    address: str,
    messages: Sequence[NewMessage],
    *,
    confirms: bool = False,
    **about: Any,
) -> list[Receipt]:
    """Store messages, and send on those that no queue takes.

    Args:
        address: where they are put.
        messages: the messages.
        confirms: whether one of them asks for a confirmation of its arrival.
        about: unit of work, actor and time.
    """
    receipts = store(address, messages, **about)
    if confirms or not receipts or not all(one.queue_ids for one in receipts):
        with transaction.atomic():
            if messages and not receipts:
                receipts = put_guarded(address, messages, **about)
            if confirms:
                confirm_arrival(messages, receipts, **about)
            if not all(one.queue_ids for one in receipts):
                receipts = redirect(address, messages, receipts, **about)
    return receipts


def confirm_arrival(
    messages: Sequence[NewMessage], receipts: Sequence[Receipt], **about: Any
) -> None:
    """Send a report for each queue that took a message that asks for it."""
    places = [
        (receipt.message_id, queue_id)
        for message, receipt in zip(messages, receipts, strict=True)
        if asks_for(Report.COA, message)
        for queue_id in receipt.queue_ids
    ]
    send_all(Feedback.COA, places, **about)


def warn(messages: Sequence[NewMessage], receipts: Sequence[Receipt]) -> None:
    """Note which messages have report options that this broker does not know."""
    for message, receipt in zip(messages, receipts, strict=True):
        if message.descriptor and unknown(message.descriptor.get("report", 0)):
            receipt.reason = Reason.UNKNOWN_REPORT_OPTION
