"""Unroutable messages: messages that reached no queue.

Source:
    ActiveMQ Artemis, PostOfficeImpl.maybeSendToDLA: if the settings of the address say
    so, they are sent to its dead letter address. If no queue takes them there, they are
    dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from django.db import transaction

from broker.config.address_settings import settings_for
from broker.config.auto_create import ensure
from broker.formats.error_fingerprint import fingerprint
from broker.models import AddressSetting, DeadLetter
from broker.queueing import mentions
from broker.queueing.arrival_expiry import lifetime_on
from broker.queueing.provenance import Hop, resubmits
from broker.queueing.routing import route_to
from broker.queueing.store import NewMessage, Receipt, store
from broker.sql import database_now

logger = logging.getLogger(__name__)

Cause = DeadLetter.Cause

DROPPED = "%d messages sent to %r reached no queue and are dropped: %s. They are %s."
UNSET = "no dead letter address is set"
OWN = "its dead letter address is its own"
ERROR = "No queue of {} took it."


def redirect(
    address: str,
    messages: Sequence[NewMessage],
    receipts: Sequence[Receipt],
    *,
    uow: int | None,
    actor: str,
    now: datetime | None,
) -> list[Receipt]:
    """Send unroutable messages to the dead letter address, if the settings say so.

    This is part of the put's transaction, if there is one. A message that no queue of
    the dead letter address takes is discarded, with a warning in the log.

    Returns:
        The receipts of all messages. The receipt of a redirected message has the id and
        the queues of its copy.
    """
    lost = [place for place, one in enumerate(receipts) if not one.queue_ids]
    rule = settings_for(address) if lost else None
    if rule is None or not rule.send_to_dla_on_no_route:
        return list(receipts)
    to = rule.dead_letter_address or ""
    if not to or to == address:
        names = named([(messages[place], receipts[place]) for place in lost])
        logger.warning(DROPPED, len(lost), address, OWN if to else UNSET, names)
        return list(receipts)
    with transaction.atomic():
        sent = send_on(
            [(messages[place], receipts[place]) for place in lost],
            rule,
            now=now,
            uow=uow,
            actor=actor,
        )
    found = dict(zip(lost, sent, strict=True))
    return [found.get(place, one) for place, one in enumerate(receipts)]


def send_on(
    unrouted: Sequence[tuple[NewMessage, Receipt]],
    rule: AddressSetting,
    *,
    now: datetime | None,
    **about: Any,
) -> list[Receipt]:
    """Send unroutable messages to the dead letter address of their address."""
    origin, to = rule.match, rule.dead_letter_address
    assert to, "somebody has looked"
    if rule.auto_create_dead_letter_resources:
        ensure(
            to,
            origin=origin,
            prefix=rule.dead_letter_queue_prefix or "",
            suffix=rule.dead_letter_queue_suffix or "",
        )
    route = route_to(to)
    at = now or database_now()
    lifetime = lifetime_on(to)
    until = None if lifetime is None else at + lifetime
    letters = [letter_of(*one, rule=rule, at=at, until=until) for one in unrouted]
    sent: list[Receipt] = []
    for refused, part in groupby(
        zip(route.refusing(letters), letters, strict=True), key=itemgetter(0)
    ):
        alike = [letter for _, letter in part]
        these = unrouted[len(sent) :][: len(alike)]
        lost = [receipt for _, receipt in these]
        if not route.takes(refused):
            logger.warning(DROPPED, len(lost), origin, route.why_not, named(these))
            sent += lost
            continue
        stored = store(
            to, alike, looked=True, refusing_ids=sorted(refused), now=now, **about
        )
        tell_why(stored, lost, origin, at)
        sent += stored
    return sent


def named(unrouted: Sequence[tuple[NewMessage, Receipt]]) -> str:
    """The names of the first of these messages, for the log."""
    names = [
        mentions.message(receipt.message_id, message.message_id)
        for message, receipt in unrouted[: mentions.SHOWN]
    ]
    return mentions.listed(names, len(unrouted))


def letter_of(
    message: NewMessage,
    receipt: Receipt,
    *,
    rule: AddressSetting,
    at: datetime,
    until: datetime | None,
) -> NewMessage:
    """The copy of a message for the dead letter address; its delivery time is kept."""
    assert rule.dead_letter_address, "somebody has looked"
    hop = Hop(
        address=rule.match,
        queue=None,
        message_id=receipt.message_id,
        routing_type=message.routing_type,
        at=at,
        cause=Cause.NO_ROUTE,
    )
    return replace(
        message,
        address=rule.dead_letter_address,
        properties=hop.properties_after(message.properties)
        | resubmits(message.properties),
        routing_type=None,
        expires_at=until,
    )


def tell_why(
    stored: Sequence[Receipt], lost: Sequence[Receipt], origin: str, at: datetime
) -> None:
    """Insert rows for these messages as dead letters; they were on no queue before."""
    error = ERROR.format(origin)
    group = fingerprint(error)
    DeadLetter.objects.bulk_create(
        DeadLetter(
            message_id=letter.message_id,
            queue_id=queue_id,
            cause=Cause.NO_ROUTE,
            error=error,
            fingerprint=group.key,
            pattern=group.pattern,
            origin_address=origin,
            origin_queue="",
            origin_id=before.message_id,
            backout_count=0,
            resubmit_count=0,
            died_at=at,
        )
        for letter, before in zip(stored, lost, strict=True)
        for queue_id in letter.queue_ids
    )
