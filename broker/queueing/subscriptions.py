"""Subscriptions to an address, each with a managed queue that keeps its messages.

The queue is created from the model queue that the address names for this kind of
subscription. A durable subscription exists until a client ends it. Any other
subscription, and any temporary queue, ends with its process, together with its entries.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import OuterRef, QuerySet

from broker import sql
from broker.config.names import DYNAMIC, clone, delete_unused, hold_address, unique
from broker.errors import NoSuchAddress
from broker.errors.queues import (
    NoModelQueue,
    NoSuchSubscription,
    SubscriptionInUse,
)
from broker.formats.selectors.parsing import parse
from broker.models import (
    Address,
    Claim,
    ClientEndpoint,
    ConnectionConsumer,
    Kind,
    ModelQueue,
    Owner,
    Place,
    Queue,
    RoutingType,
    Subscription,
)
from broker.queueing.processes import current
from broker.queueing.transfer import Record, TakenEntry, end
from broker.sql.fencing import short_transaction

CHUNK = 1000
DURABLE, NONDURABLE = "SYSTEM.MANAGED.DURABLE.", "SYSTEM.MANAGED.NDURABLE."
ENDED = "Its subscription has ended."
GONE = "Its queue is gone."
DEFAULT_MODEL = "SYSTEM.DEFAULT.MODEL.QUEUE"
NOTHING = "1 = 0"  # a selector that matches no message


@transaction.atomic
def subscribe(  # noqa: PLR0913  # each is named where it is used
    address: str,
    *,
    durable: bool,
    owner: int,
    client_id: str = "",
    name: str = "",
    selector: str = "",
    busy: Collection[int] = (),
) -> Subscription:
    """Create a subscription, or resume a durable one.

    If a durable subscription of this client and name has another address or selector,
    it is ended first, and its messages are deleted.

    Args:
        address: name of the address to subscribe to.
        durable: whether the subscription outlives its process; then it needs a name.
        owner: owner id of this process (``processes.current``).
        client_id: the JMS client id; two clients may use the same name.
        name: the name of a durable subscription; empty for any other.
        selector: a selector of the messages; empty: all messages.
        busy: the queues that clients of this process consume from.

    Raises:
        NoSuchAddress: there is no such address.
        NoModelQueue: the model queue is missing or, for a durable subscription, is a
            temporary one.
        InvalidSelector: the selector cannot be parsed.
        SubscriptionInUse: the subscription must be ended first, but has a consumer.
        ValueError: a durable subscription has no name.

    Source:
        JMS 2.0, ``Session.createDurableConsumer``: changing the topic or the selector
        is the same as unsubscribing and creating a new subscription. IBM MQ, reason
        2522: the models, and that a durable subscription needs a permanent one.
    """
    if durable and not name:
        raise ValueError("A durable subscription needs a name, so that it is found.")
    topic = topic_of(address, selector)
    if durable and (known := find(client_id, name)) is not None:
        if known.address_id == topic.pk and known.queue.selector == selector:
            return known
        unsubscribe(client_id, name, busy=busy)
    queue = managed_queue(topic, selector, durable=durable)
    try:
        with transaction.atomic():
            return Subscription.objects.create(
                address=topic,
                client_id=client_id,
                name=name if durable else "",
                durable=durable,
                queue=queue,
                owner_id=None if durable else owner,
            )
    except IntegrityError as error:
        if not sql.is_duplicate(error):
            raise
        # A duplicate: another client has just created the subscription.
        raise SubscriptionInUse(client_id, name) from error


def topic_of(address: str, selector: str) -> Address:
    """The address to subscribe to, if it allows subscriptions.

    Raises:
        NoSuchAddress: there is no such address.
        InvalidSelector: the selector cannot be parsed.
    """
    topic = hold_address(address)
    if topic is None:
        raise NoSuchAddress(address)
    if selector:
        parse(selector)
    return topic


@transaction.atomic
def open_temporary(*, owner: int, is_topic: bool) -> Subscription:
    """Create a temporary queue for one client, with an address of the same new name.

    It exists until it is removed, or its owner ends.

    Args:
        owner: owner id of this process (``processes.current``).
        is_topic: create a temporary topic: an address to subscribe to. Its queue takes
            no message; its name is the name of the topic.

    Source:
        JMS 2.0, ``TemporaryQueue``. IBM MQ: temporary queues are created from
        SYSTEM.DEFAULT.MODEL.QUEUE, unless another model is named.
    """
    model = ModelQueue.objects.filter(name=DEFAULT_MODEL).first() or ModelQueue()
    name = unique(DYNAMIC)
    address = Address.objects.create(name=name)
    multicast = {"routing_type": RoutingType.MULTICAST, "selector": NOTHING}
    queue = clone(
        model,
        name=name,
        address=address,
        kind=Queue.Kind.TEMPORARY,
        **multicast if is_topic else {},
    )
    return Subscription.objects.create(
        address=address, queue=queue, durable=False, owner_id=owner
    )


def managed_queue(address: Address, selector: str, *, durable: bool) -> Queue:
    """A new queue of an address, created from its model queue.

    Raises:
        NoModelQueue: the model queue is missing or, for a durable subscription, is a
            temporary one.
    """
    named = address.durable_model if durable else address.nondurable_model
    model = ModelQueue.objects.filter(name=named).first()
    if model is None or (durable and not model.permanent):
        raise NoModelQueue(named, address.name)
    return clone(
        model,
        name=unique(DURABLE if durable else NONDURABLE),
        address=address,
        kind=Queue.Kind.MANAGED,
        routing_type=RoutingType.MULTICAST,
        selector=selector,
    )


@transaction.atomic
def unsubscribe(
    client_id: str,
    name: str,
    *,
    busy: Collection[int] = (),
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """End a durable subscription, and the entries on its queue.

    Args:
        client_id: the JMS client id.
        name: the name of the subscription.
        busy: the queues that clients of this process consume from.
        actor: name that the journal records.
        now: the current time; the database's clock when not given.

    Raises:
        NoSuchSubscription: the client has no subscription of that name.
        SubscriptionInUse: it has a consumer, or a consumer holds messages of it.

    Source:
        JMS 2.0, ``Session.unsubscribe``: an error while the subscription has an active
        consumer, or a message that is part of a transaction or not acknowledged.
    """
    known = find(client_id, name)
    if known is None:
        raise NoSuchSubscription(client_id, name)
    if is_in_use(known.queue, busy):
        raise SubscriptionInUse(client_id, name)
    remove(known, actor=actor, now=now)


def find(client_id: str, name: str) -> Subscription | None:
    """The durable subscription, locked until the transaction ends."""
    return (
        Subscription.objects.select_for_update(of=("self",))
        .select_related("queue")
        .filter(durable=True, client_id=client_id, name=name)
        .first()
    )


def is_in_use(queue: Queue, busy: Collection[int] = ()) -> bool:
    """Whether a queue has a consumer.

    A consumer holds entries of the queue, server sessions get from it, or a client of
    another process gets from it; consumers of this process are given as ``busy``.
    """
    alive = Owner.objects.values("id")
    sessions = ConnectionConsumer.objects.filter(queue=queue, owner_id__in=alive)
    return (
        queue.pk in busy
        or Claim.objects.filter(queue_id=queue.pk).exists()
        or sessions.exists()
        or elsewhere(queue.pk).exists()
    )


def elsewhere(queue_id: int | OuterRef) -> QuerySet[ClientEndpoint]:
    """Consumers of a queue in other living processes."""
    living = Owner.objects.exclude(pk=current()).values("id")
    return ClientEndpoint.objects.filter(
        queue=queue_id, kind=ClientEndpoint.Kind.GETS, connection__owner_id__in=living
    )


@transaction.atomic
def remove(
    subscription: Subscription, *, actor: str = "", now: datetime | None = None
) -> None:
    """End a subscription or a temporary queue with all its entries, even if it is in
    use.

    Claimed entries stay until their units of work end. A temporary address goes with
    its last queue.
    """
    address = Address.objects.filter(pk=subscription.address_id)
    # The lock makes a second deletion at the same time wait, so that it sees that it is
    # the last.
    is_temporary = bool(
        address.filter(name__startswith=DYNAMIC).select_for_update(no_key=True)
    )
    while clear(subscription.queue_id, CHUNK, ENDED, actor=actor, now=now) == CHUNK:
        pass
    # This also deletes the subscription.
    Queue.objects.filter(pk=subscription.queue_id).delete()
    if is_temporary:
        delete_unused(subscription.address)


def end_dead(*, limit: int, now: datetime | None = None) -> bool:
    """Continue to end the subscriptions of dead processes.

    Entries that were put while a queue was removed end here, too.

    Args:
        limit: the largest number of entries; each call is one transaction.
        now: the current time; the database's clock when not given.

    Returns:
        Whether a subscription or an entry was ended; then there may be more.
    """
    with short_transaction():
        dead = sql.fetch("dead_subscriptions", int)
        found = Subscription.objects.filter(pk__in=dead).order_by("pk")
        lockable = found.select_for_update(of=("self",), skip_locked=True)
        subscription = lockable.select_related("queue", "address").first()
        if subscription is not None:
            if clear(subscription.queue_id, limit, ENDED, now=now) < limit:
                remove(subscription, now=now)
            return True
        strays = sql.fetch("stray_queues", int)
        return sum(clear(stray, limit, GONE, now=now) for stray in strays) > 0


def is_any_dead() -> bool:
    """Whether ``end_dead`` has something to do."""
    return any(sql.run(one, {}) for one in ("dead_subscriptions", "stray_queues"))


def clear(
    queue_id: int, limit: int, why: str, *, actor: str = "", now: datetime | None
) -> int:
    """End waiting entries of a queue, at most ``limit``; return the number of
    entries."""
    taken: dict[Place, list[TakenEntry]] = {Place.READY: [], Place.DELAYED: []}
    for place, *fields in sql.run("take_queue", {"queue_id": queue_id, "limit": limit}):
        taken[Place(place)].append(TakenEntry(*fields))
    for place, held in taken.items():
        detail = {"why": why}
        end(held, Record(Kind.DISCARD, place, None, actor, detail, now))
    return sum(map(len, taken.values()))
