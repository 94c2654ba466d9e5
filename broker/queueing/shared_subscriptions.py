"""Shared subscriptions that are not durable.

Consumers join such a subscription by its name, in this process or another. It ends with
its last consumer. Durable subscriptions can always be shared
(``subscriptions.subscribe``).
"""

from __future__ import annotations

from collections.abc import Collection

from django.db import connection, transaction

from broker.errors.queues import SubscriptionInUse
from broker.models import Subscription
from broker.queueing.subscriptions import is_in_use, managed_queue, remove, topic_of

SHARED = 0x424E  # first key of the advisory locks on names of shared subscriptions


@transaction.atomic
def share(
    address: str,
    *,
    owner: int,
    client_id: str,
    name: str,
    selector: str = "",
    busy: Collection[int] = (),
) -> Subscription:
    """Join a shared non-durable subscription, or create it.

    Args:
        address: name of the address to subscribe to.
        owner: owner id of this process (``processes.current``).
        client_id: the JMS client id; empty: clients without an id share the name.
        name: the name of the subscription.
        selector: a selector of the messages; empty: all messages.
        busy: the queues that clients of this process consume from.

    Raises:
        NoSuchAddress: there is no such address.
        NoModelQueue: the model queue is missing.
        InvalidSelector: the selector cannot be parsed.
        SubscriptionInUse: a subscription with this name has consumers, and another
            address or selector.

    Source:
        JMS 2.0, ``Session.createSharedConsumer``.
    """
    topic = topic_of(address, selector)
    hold_name(client_id, name)
    known = shared(client_id, name)
    if known is not None:
        if known.address_id == topic.pk and known.queue.selector == selector:
            return known
        if is_in_use(known.queue, busy):
            raise SubscriptionInUse(client_id, name)
        remove(known)
    return Subscription.objects.create(
        address=topic,
        client_id=client_id,
        name=name,
        durable=False,
        queue=managed_queue(topic, selector, durable=False),
        owner_id=owner,
    )


def hold_name(client_id: str, name: str) -> None:
    """Lock a subscription's name until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s::int, hashtext(%s))",
            [SHARED, f"{client_id}|{name}"],
        )


def shared(client_id: str, name: str) -> Subscription | None:
    """The shared non-durable subscription of this name, locked."""
    return (
        Subscription.objects.select_for_update(of=("self",))
        .select_related("queue", "address")
        .filter(durable=False, client_id=client_id, name=name)
        .first()
    )


@transaction.atomic
def leave_shared(client_id: str, name: str) -> None:
    """End a shared non-durable subscription that has no consumer any more.

    Call it when no consumer of this process is left.
    """
    hold_name(client_id, name)
    known = shared(client_id, name)
    if known is not None and not is_in_use(known.queue):
        remove(known)
