"""Sources: a queue, a browse of a queue, or a subscription to a topic.

=============================  ========================================================
A source                       is
=============================  ========================================================
with a queue's name or alias   the queue; a browse if the distribution mode is "copy"
with an address's name         the anycast queue of the address, if it has one; else a
                               subscription that ends with the endpoint
durable                        a subscription, found by container id and link name; a
                               detach keeps it, a close ends it
shared                         a subscription for many consumers; if not durable, it
                               ends with the last of them
dynamic                        a temporary queue, deleted with the endpoint
absent                         the durable subscription of the link's name, to be ended
=============================  ========================================================

Source:
    AMQP 1.0, part 3, section 3.5. JMS 2.0, "Subscriptions".
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

from django.conf import settings

from broker.amqp.nodes import temporary
from broker.amqp.nodes.detach import Consumes, Remembered, Share
from broker.amqp.nodes.source_request import (
    SourceRequest,
    check_name,
    granted,
    read_source_request,
    subscription_name,
)
from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.endpoints import Sender
from broker.amqp.refusals import lacking, refusal
from broker.amqp.senders.browser import Looks
from broker.config.names import local_queue, meanings
from broker.errors import NoSuchAddress, NoSuchQueue
from broker.errors.queues import NoSuchSubscription
from broker.errors.units_of_work import MarkNotPossible
from broker.models import Address, Queue, RoutingType, Subscription
from broker.queueing import processes, shared_subscriptions, subscriptions
from broker.security.authorities import Authority

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

NO_ADDRESS = "The source needs an address: name a queue or address to get from."
FOREIGN = "A temporary queue is for the connection that has made it."
SWITCHED_OFF = "the broker has it switched off (BROKER_SKIP_BACKOUT)"


class Node(NamedTuple):
    """The node that a name stands for: a queue, or else a topic."""

    queue: Queue | None = None
    topic: str = ""  # name of an address


async def to_get(client: Client, endpoint: Sender, attach: p.Attach) -> None:
    """Answer an attach of a client that wants to get, browse or unsubscribe.

    Raises:
        AmqpError: the attach must be refused with this error.
        BrokerError: the attach must be refused.
    """
    await client.listener.consumers.gone(client)
    if attach.source is None:
        await to_unsubscribe(client, endpoint, attach)
        return
    what = read_source_request(attach, client.container_id)
    if what.has_mark and not settings.BROKER_SKIP_BACKOUT:
        raise refusal(MarkNotPossible(SWITCHED_OFF))
    if what.is_dynamic:
        await from_temporary(client, endpoint, what)
        return
    if not what.name:
        raise AmqpError(c.INVALID_FIELD, NO_ADDRESS)
    node = await client.listener.database(find, what)
    if node.queue is None:
        await from_topic(client, endpoint, what, node.topic)
    elif what.is_copy:
        look(client, endpoint, what, node.queue)
    else:
        await from_queue(client, endpoint, what, node.queue)


def find(what: SourceRequest) -> Node:
    """The node of a request; in a thread.

    Raises:
        NoSuchAddress: there is no topic of that name.
        NoSuchQueue: the name leads to no queue, or to several.
    """
    wants_topic = what.kind == "topic" or (
        what.kind is None and (what.is_durable or what.is_shared)
    )
    if wants_topic and (topic := topic_named(what.name)) is not None:
        return Node(topic=topic)
    if what.kind == "topic":
        raise NoSuchAddress(what.name)
    try:
        return Node(queue=queue_named(what.name))
    except NoSuchQueue:
        topic = topic_named(what.name)
        if what.kind == "queue" or topic is None or anycast(what.name):
            raise
        return Node(topic=topic)


def topic_named(name: str) -> str | None:
    """The address of this name or alias; None if there is none."""
    for meant in meanings(name):
        if Address.objects.filter(name=meant).exists():
            return meant
    return None


def queue_named(name: str) -> Queue:
    try:
        return local_queue(name)
    except NoSuchQueue:
        fed = anycast(name)
        if len(fed) != 1:
            raise
        return fed[0]


def anycast(address: str) -> list[Queue]:
    """The anycast queues of an address, at most two of them."""
    queues = Queue.objects.select_related("address").filter(address__name=address)
    return list(queues.filter(routing_type=RoutingType.ANYCAST)[:2])


def check_may(
    client: Client, authority: Authority, name: str, what: SourceRequest
) -> None:
    """Check that the client has an authority on a node.

    Raises:
        NotAuthorized: the client lacks the authority.
        NoSuchAddress, NoSuchQueue: the client has no authority on the node at all.
    """
    if not client.may(authority, name):
        is_topic = what.kind == "topic"
        missing = NoSuchAddress(what.name) if is_topic else NoSuchQueue(what.name)
        raise lacking(client, authority, name, missing)


def check_own(client: Client, queue: Queue) -> bool:
    """Whether a queue is the client's own temporary queue, which needs no authority.

    Raises:
        AmqpError: the queue is a temporary queue of another client.
    """
    if queue.kind != Queue.Kind.TEMPORARY:
        return False
    if queue.name not in client.temporaries:
        raise AmqpError(c.NOT_ALLOWED, FOREIGN)
    return True


def look(client: Client, endpoint: Sender, what: SourceRequest, queue: Queue) -> None:
    if not check_own(client, queue):
        check_may(client, "browse", queue.name, what)
    endpoint.context = Looks(client, endpoint, queue, what.selector)
    attach = endpoint.attach
    assert attach is not None, "that is why we are here"
    name = attach.source.address if attach.source else queue.name
    endpoint.accept(source=granted(attach, what, name, is_durable=False))


async def from_queue(
    client: Client, endpoint: Sender, what: SourceRequest, queue: Queue
) -> None:
    is_own = check_own(client, queue)
    if not is_own:
        check_may(client, "get", queue.name, what)
    gets = Consumes(
        client,
        endpoint,
        queue,
        what.selector,
        no_local=what.no_local,
        mark=what.has_mark,
    )
    if is_own:
        gets.needs = None
    await begin(gets, what, is_exclusive=what.is_exclusive)


async def from_temporary(client: Client, endpoint: Sender, what: SourceRequest) -> None:
    made = await temporary.make(client)
    gets = Consumes(
        client,
        endpoint,
        made.queue,
        what.selector,
        mark=what.has_mark,
        subscription=made,
    )
    gets.needs = None
    await begin(gets, what, address=made.queue.name, lives=temporary.LIFETIME)


async def from_topic(
    client: Client, endpoint: Sender, what: SourceRequest, topic: str
) -> None:
    """Create a subscription, or resume an existing one."""
    check_may(client, "get", topic, what)
    share = Share(what.client_id, what.subscription, what.is_durable)
    is_named = what.is_durable or what.is_shared
    if is_named:
        check_name(share.client_id)
        check_name(share.name)
    consumers = client.listener.consumers
    async with consumers.lock(share) if is_named else nullcontext():
        made = await client.listener.database(subscribe, what, topic, consumers.busy)
        gets = Consumes(
            client,
            endpoint,
            made.queue,
            no_local=what.no_local,
            mark=what.has_mark,
            subscription=None if what.is_shared else made,
            share=share if what.is_shared else None,
        )
        gets.node, gets.needs = topic, ("get", topic)
        is_alone = what.is_durable and not what.is_shared
        await begin(
            gets,
            what,
            is_exclusive=is_alone or what.is_exclusive,
            is_durable=what.is_durable,
        )


def subscribe(what: SourceRequest, topic: str, busy: frozenset[int]) -> Subscription:
    """Create or resume the subscription of a request; in a thread.

    Raises:
        SubscriptionInUse: it would have to be replaced, but has a consumer.
        NoModelQueue: the address's model queue cannot be used.
        InvalidSelector: the selector cannot be parsed.
    """
    if what.is_shared and not what.is_durable:
        return shared_subscriptions.share(
            topic,
            owner=processes.current(),
            client_id=what.client_id,
            name=what.subscription,
            selector=what.selector,
            busy=busy,
        )
    return subscriptions.subscribe(
        topic,
        durable=what.is_durable,
        owner=processes.current(),
        client_id=what.client_id,
        name=what.subscription,
        selector=what.selector,
        busy=busy,
    )


async def begin(
    gets: Consumes,
    what: SourceRequest,
    *,
    is_exclusive: bool = False,
    is_durable: bool = False,
    address: str | None = None,
    lives: dict[Any, Any] | None = None,
) -> None:
    """Accept the attach, unless another consumer has exclusive access.

    Raises:
        AmqpError: another consumer has exclusive access; ``amqp:resource-locked``.
    """
    client, endpoint = gets.client, gets.endpoint
    client.listener.consumers.enter(gets)
    try:
        await client.listener.register.hold(
            client, endpoint, gets.queue_id, exclusive=is_exclusive
        )
    except BaseException:
        gets.never_began()
        raise
    attach = endpoint.attach
    assert attach is not None, "that is why we are here"
    if address is None and attach.source is not None:
        address = attach.source.address
    endpoint.context = gets
    source = granted(attach, what, address, is_durable=is_durable, lives=lives)
    endpoint.accept(source=source)


async def to_unsubscribe(client: Client, endpoint: Sender, attach: p.Attach) -> None:
    """Look up a durable subscription, which the client then ends by a close.

    Source:
        AMQP JMS Mapping: ``unsubscribe`` attaches without a source, and closes.
    """
    is_global = any(one.lower() == "global" for one in attach.desired_capabilities)
    client_id = "" if is_global else client.container_id
    name = check_name(subscription_name(attach))
    found = await client.listener.database(remembered, check_name(client_id), name)
    await client.listener.register.hold(
        client, endpoint, found.queue_id, exclusive=True
    )
    endpoint.context = Remembered(client, endpoint, found)
    address = found.address.name
    endpoint.accept(
        source=p.Source(
            address=address, durable=2, expiry_policy="never", capabilities=("topic",)
        )
    )


def remembered(client_id: str, name: str) -> Subscription:
    """The durable subscription of this name; runs in a thread.

    Raises:
        NoSuchSubscription: there is none of this name.
    """
    found = (
        Subscription.objects.select_related("address", "queue")
        .filter(durable=True, client_id=client_id, name=name)
        .first()
    )
    if found is None:
        raise NoSuchSubscription(client_id, name)
    return found
