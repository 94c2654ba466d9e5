"""Queues as kombu declares, purges and deletes them.

A durable queue is a queue as any other. An exclusive or auto-delete queue is a
temporary queue of this process: it ends with it, at the latest.
"""

from __future__ import annotations

from django.db import IntegrityError, transaction
from kombu.exceptions import ChannelError

from broker import sql
from broker.config.address_settings import decisions
from broker.config.names import DYNAMIC, clone, delete_unused, ensure_address, unique
from broker.declarations.declaring import declare_queue
from broker.models import (
    Kind,
    ModelQueue,
    Place,
    Queue,
    Subscription,
)
from broker.queueing import processes, subscriptions
from broker.queueing.transfer import Record, TakenEntry
from broker.settlement.discards import discard

CHUNK = 1000
LOCK = processes.LOCK_CLASS
DEAD_LETTERS = "DLQ"  # dead letter address of tasks
PURGED = "The queue was purged by a client of Celery."


def find(name: str) -> Queue:
    """A queue by its name.

    Raises:
        ChannelError: there is none; 404.
    """
    queue = Queue.objects.filter(name=name).select_related("address").first()
    if queue is None:
        text = f"There is no queue {name!r}."
        raise ChannelError(text, (50, 10), "Queue.declare", "404")
    return queue


def declare(name: str, *, is_temporary: bool) -> Queue:
    """Create a queue unless it exists; an empty name is a new one."""
    name = name or unique(DYNAMIC)
    found = Queue.objects.filter(name=name).select_related("address").first()
    if found is not None and not (is_temporary and is_abandoned(found)):
        return found
    if not is_temporary:
        return declare_queue(name, **dead_letters_of(name))
    try:
        return open_temporary(name, found)
    except IntegrityError as error:
        if not sql.is_duplicate(error):
            raise
        # Another process has just created the queue.
        return find(name)


def dead_letters_of(address: str) -> dict[str, str]:
    """The dead letter address of a new queue, unless address settings define one; an
    empty one is defined, too."""
    for one in decisions(address):
        if one.field == "dead_letter_address" and one.decided_by is None:
            return {one.field: DEAD_LETTERS}
    return {}


def is_abandoned(queue: Queue) -> bool:
    """Whether a temporary queue is of a process that is dead."""
    subscription = Subscription.objects.filter(queue=queue, durable=False).first()
    if subscription is None or subscription.owner_id == processes.current():
        return False
    return bool(
        sql.run("is_dead", {"owner": subscription.owner_id, "lock_class": LOCK})
    )


@transaction.atomic
def open_temporary(name: str, before: Queue | None) -> Queue:
    """Create a queue that is deleted with this process, in place of an earlier queue of
    its name."""
    if before is not None:
        subscriptions.remove(before.subscription)
    model = ModelQueue.objects.filter(name=subscriptions.DEFAULT_MODEL).first()
    address = ensure_address(name, auto_created=True)
    queue = clone(
        model or ModelQueue(), name=name, address=address, kind=Queue.Kind.TEMPORARY
    )
    Subscription.objects.create(
        address=address, queue=queue, durable=False, owner_id=processes.current()
    )
    return queue


def depth(queue: Queue) -> int:
    """The number of messages on a queue."""
    (count,) = sql.fetch_one("depth", queue_id=queue.pk)
    return int(count)


def purge(queue: Queue) -> int:
    """Discard all messages that nobody holds; return their number. Those of durable
    queues can be restored from the discard bin."""
    count = 0
    while taken := purge_some(queue):
        count += taken
    return count


@transaction.atomic
def purge_some(queue: Queue) -> int:
    if queue.kind == Queue.Kind.TEMPORARY:
        return subscriptions.clear(queue.pk, CHUNK, PURGED, now=None)
    found = list(sql.run("take_queue", {"queue_id": queue.pk, "limit": CHUNK}))
    for place in (Place.READY, Place.DELAYED):
        held = [TakenEntry(*rest) for at, *rest in found if at == place]
        discard(held, Record(Kind.DISCARD, place), why=PURGED)
    return len(found)


@transaction.atomic
def delete(queue: Queue) -> int:
    """Delete a queue with its bindings; its messages are discarded as by ``purge``.
    Return their number."""
    subscription = Subscription.objects.filter(queue=queue).first()
    if subscription is not None:
        subscriptions.remove(subscription)
        remove_address(queue)
        return 0
    count = purge(queue)
    Queue.objects.filter(pk=queue.pk).delete()
    remove_address(queue)
    return count


def remove_address(queue: Queue) -> None:
    """Delete the address of a deleted queue, if it has the queue's name and no other
    queue."""
    if queue.address.name == queue.name:
        delete_unused(queue.address)
