"""Automatic creation and deletion of addresses and queues, as address settings say."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from django.db import IntegrityError, transaction

from broker import sql
from broker.config.address_settings import merge
from broker.config.names import ensure_address
from broker.models import AddressSetting, Queue, RoutingType
from broker.sql import database_now

logger = logging.getLogger(__name__)

LONGEST_NAME = 255  # most characters of a name
LONGEST_MS = 100 * 365 * 24 * 3600 * 1000  # a century, in milliseconds
DIGITS = 12  # digits of the digest in a shortened name
MADE = "Queue %s of address %s is auto-created, for messages of %s."
DELETED = "%s was auto-created and is idle: it is deleted."


def ensure(to: str, *, origin: str, prefix: str, suffix: str) -> None:
    """Create an address, and its queue for messages of another address, if missing.

    An existing queue is not changed, and is locked against deletion until the
    transaction ends. If two transactions create the same queue, the second waits.

    Args:
        to: the address, as the setting names it.
        origin: the original address of the messages; the queue takes only these.
        prefix: text before ``origin`` in the queue's name.
        suffix: text after ``origin`` in the queue's name.

    Source:
        ActiveMQ Artemis, QueueImpl.createResources: a multicast queue for each address;
        one that exists already is no error.
    """
    name = name_for(origin, prefix, suffix)
    while not (held := sql.run("hold_queue", {"queue": name})):
        queue = Queue(
            name=name,
            address=ensure_address(to, auto_created=True),
            routing_type=RoutingType.MULTICAST,
            selector=selector_for(origin),
            auto_created=True,
        )
        Queue.objects.bulk_create([queue], ignore_conflicts=True)
        transaction.on_commit(partial(logger.info, MADE, name, to, origin))
    for queue_id, is_idle in held:
        if is_idle:
            Queue.objects.filter(pk=queue_id).update(idle_since=None)


def name_for(origin: str, prefix: str, suffix: str) -> str:
    """The name of the queue for messages of an address. If it would be too long, the
    address in it is shortened, with a digest that keeps the name unique."""
    name = f"{prefix}{origin}{suffix}"
    if len(name) <= LONGEST_NAME:
        return name
    digest = hashlib.sha256(origin.encode()).hexdigest()[:DIGITS]
    kept = max(LONGEST_NAME - len(f"{prefix}~{digest}{suffix}"), 0)
    return f"{prefix}{origin[:kept]}~{digest}{suffix}"


def selector_for(origin: str) -> str:
    """The selector for copies of messages with this original address."""
    return "_AMQ_ORIG_ADDRESS = '{}'".format(origin.replace("'", "''"))


def delete_idle(*, now: datetime | None = None) -> int:
    """Delete idle auto-created queues, and then auto-created addresses without queues.

    An idle queue is empty and without consumers, and has nothing in the discard bin. It
    is deleted after ``auto_delete_queues_delay_ms`` of its address. A queue that is
    just being used is left for the next scan. Each deletion is its own transaction.

    Args:
        now: the current time; the database's clock when not given.

    Returns:
        The number of deleted queues.
    """
    every = list(AddressSetting.objects.all())
    deleted = 0
    for queue in Queue.objects.filter(auto_created=True).select_related("address"):
        rule = merge(queue.address.name, every)
        delay = timedelta(
            milliseconds=min(rule.auto_delete_queues_delay_ms or 0, LONGEST_MS)
        )
        deleted += undisturbed(partial(delete_queue, queue.pk, delay, now))
    undisturbed(delete_addresses)
    return deleted


def undisturbed(deletion: Callable[[], int]) -> int:
    """Run a deletion; return the number of deleted rows. 0 if a new reference to a row
    prevents the deletion."""
    try:
        with transaction.atomic():
            return deletion()
    except IntegrityError:
        return 0


def delete_queue(queue_id: int, delay: timedelta, now: datetime | None) -> int:
    """Delete a queue that has been idle for ``delay``; otherwise record that it is idle
    now."""
    for (since,) in sql.run("lock_auto_created", {"queue_id": queue_id}):
        (is_idle,) = sql.fetch_one("is_idle", queue_id=queue_id)
        at = now or database_now()
        if is_idle and at - (since or at) >= delay:
            (name,) = sql.fetch_one("delete_queue", queue_id=queue_id)
            transaction.on_commit(partial(logger.info, DELETED, name))
            return 1
        if is_idle != (since is not None):
            found = Queue.objects.filter(pk=queue_id)
            found.update(idle_since=at if is_idle else None)
    return 0


def delete_addresses() -> int:
    """Delete the auto-created addresses that have no queue; return their number."""
    names = sql.fetch("delete_addresses", str)
    for name in names:
        transaction.on_commit(partial(logger.info, DELETED, name))
    return len(names)
