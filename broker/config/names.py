"""Resolve names to local queues, aliases, addresses and model queues.

An alias refers to a queue or to an address, never to another alias. A fully qualified
queue name is the address and the queue with ``::`` between. A model queue is a
template: opening it creates a queue.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from django.db.models import Model

from broker import sql
from broker.errors import NoSuchAddress, NoSuchQueue
from broker.models import (
    Address,
    ModelQueue,
    Queue,
    QueueAlias,
    RoutingType,
    Subscription,
)
from broker.models.queues import Limits

WITHIN = "::"  # separates an address from one of its queues
DYNAMIC = "AMQ."  # prefix of the names of queues created from a model


def local_queue(name: str) -> Queue:
    """The queue with a name, plain or fully qualified, or by an alias.

    An alias of an address refers to its queue if the address has exactly one.

    Raises:
        NoSuchQueue: the name does not refer to exactly one queue.

    Source:
        IBM MQ, "Alias queues": an alias resolves to its target, never to an alias.
        ActiveMQ Artemis manual, "Fully Qualified Queue Names".
    """
    queues = Queue.objects.select_related("address")
    for meant in meanings(name):
        queue = queues.filter(name=meant).first()
        if queue is not None:
            return queue
        if meant != name:
            fed = list(queues.filter(address__name=meant)[:2])
            if len(fed) == 1:
                return fed[0]
        address, _, within = meant.partition(WITHIN)
        if within:
            queue = queues.filter(address__name=address, name=within).first()
            if queue is not None:
                return queue
    raise NoSuchQueue(name)


def address_of(name: str) -> str:
    """The address that a producer with a destination of this name sends to.

    Args:
        name: name of an address or a queue, or an alias of either.

    Raises:
        NoSuchAddress: there is none of these with this name.
    """
    for meant in meanings(name):
        if Address.objects.filter(name=meant).exists():
            return meant
        queue = Queue.objects.select_related("address").filter(name=meant).first()
        if queue is not None:
            return queue.address.name
    raise NoSuchAddress(name)


def hold_address(name: str) -> Address | None:
    """The address with a name, locked against deletion until the transaction ends.

    An auto-created address without queues may be deleted at any time; what is created
    for it refers to an address that this has locked.
    """
    for address_id in sql.fetch("hold_address", int, address=name):
        return Address.objects.get(pk=address_id)
    return None


def ensure_address(name: str, *, auto_created: bool = False) -> Address:
    """The address with a name, as ``hold_address``; it is created if it is missing."""
    while (found := hold_address(name)) is None:
        address = Address(name=name, auto_created=auto_created)
        Address.objects.bulk_create([address], ignore_conflicts=True)
    return found


def delete_unused(address: Address) -> None:
    """Delete an address unless it has a queue or a subscription, also one that another
    transaction is just creating. The caller is in a transaction."""
    row = Address.objects.filter(pk=address.pk)
    unused = row.filter(queues=None, subscriptions=None)
    # The lock waits for all who hold the address; only then is it known what they made.
    if unused.exists() and row.select_for_update():
        unused.delete()


def meanings(name: str) -> Iterator[str]:
    """The name itself, and then the alias's target if the name is an alias."""
    yield name
    yield from QueueAlias.objects.filter(name=name).values_list("target", flat=True)


@transaction.atomic
def open_model(model_name: str, *, owner: int) -> Queue:
    """Create a queue from a model, with its own address; both have a new name.

    The queue of a permanent model exists until it is deleted, any other until its owner
    ends (``subscriptions.end_dead``).

    Args:
        model_name: name of the model queue.
        owner: owner id of this process (``processes.current``).

    Raises:
        NoSuchQueue: there is no such model.

    Source:
        IBM MQ, "Dynamic queues": temporary ones go with the handle that made them.
    """
    model = ModelQueue.objects.filter(name=model_name).first()
    if model is None:
        raise NoSuchQueue(model_name)
    kind = Queue.Kind.LOCAL if model.permanent else Queue.Kind.TEMPORARY
    name = unique(DYNAMIC)
    address = Address.objects.create(name=name)
    queue = clone(model, name=name, address=address, kind=kind)
    if not model.permanent:
        Subscription.objects.create(
            address=address, queue=queue, durable=False, owner_id=owner
        )
    return queue


def clone(model: ModelQueue, *, name: str, address: Address, **fields: Any) -> Queue:
    """Create a queue with a model's present attributes. Later changes of the model do
    not change it.

    Source:
        IBM MQ, "Handling poison messages in IBM MQ classes for JMS": the managed queue
        of a subscription inherits BOTHRESH and BOQNAME.
    """
    inherited = {
        field.name: getattr(model, field.name) for field in Limits._meta.fields
    }
    fields = {"routing_type": RoutingType.ANYCAST} | fields
    return Queue.objects.create(name=name, address=address, **inherited, **fields)


def unique(beginning: str) -> str:
    """A new unique name with this prefix."""
    return beginning + secrets.token_hex(8).upper()


MEANT_BY: Mapping[type[Model], tuple[type[Model], ...]] = {
    # A name of an object of the first model must differ from the names of all objects
    # of the models on the right.
    Address: (Address, QueueAlias),
    ModelQueue: (ModelQueue, Queue, QueueAlias),
    Queue: (Queue, QueueAlias, ModelQueue),
    QueueAlias: (QueueAlias, Queue, ModelQueue, Address),
}


def other_of_name(one: Any) -> Model | None:
    """Another object that has the name of this one, where the two would be confused.

    An address and a queue may have the same name, as an address with one queue usually
    has.
    """
    for model in MEANT_BY.get(type(one), ()):
        others = model._default_manager.filter(name=one.name)
        if model is type(one):
            others = others.exclude(pk=one.pk)
        if (found := others.first()) is not None:
            return found
    return None
