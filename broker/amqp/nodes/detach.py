"""The end of a consumer: the steps after its detach, once no delivery is held."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from django.db import Error as DatabaseError

from broker.amqp.ends import End, Snapshot
from broker.amqp.protocol.endpoints import Sender
from broker.amqp.senders.closing import Parting
from broker.amqp.senders.sender import Gets
from broker.errors import BrokerError
from broker.errors.queues import NoSuchSubscription, SubscriptionInUse
from broker.models import ClientEndpoint, Queue, Subscription
from broker.queueing import shared_subscriptions, subscriptions
from broker.sql.threads import DatabaseAway

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client
    from broker.amqp.listener import Listener

logger = logging.getLogger(__name__)

AGAIN_AFTER_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


class Share(NamedTuple):
    """The key of a shared subscription."""

    client_id: str
    name: str
    is_durable: bool


class Consumes(Gets):
    """The ``End`` of a client that gets; it is registered in ``Consumers``."""

    def __init__(
        self,
        client: Client,
        endpoint: Sender,
        queue: Queue,
        selector: str = "",
        *,
        share: Share | None = None,
        **options: Any,
    ) -> None:
        """See ``Gets``.

        Args:
            share: the key of a shared subscription, which ends with its last consumer.
            options: further options of ``Gets``.
        """
        super().__init__(client, endpoint, queue, selector, **options)
        self.share = share
        self.is_closed = False

    def part(self, parting: Parting) -> None:
        if self.parting is None:
            self.is_closed = parting.is_closed
            parting.over.add_done_callback(lambda _: self.left())
            self.client.listener.consumers.wait_for(self.client, parting.over)
        super().part(parting)

    def left(self) -> None:
        """Leave the queue, once no delivery is held."""
        listener = self.client.listener
        listener.consumers.leave(self)
        self.client.temporaries.discard(self.queue.name)
        if self.share is not None:
            end_later(self.client, self.leave_share(self.share))

    def never_began(self) -> None:
        """Undo what was prepared for an attach that is refused."""
        self.left()
        made = self.subscription
        if made is not None and not made.durable:
            end_later(
                self.client,
                surely(self.client.listener, partial(subscriptions.remove, made)),
            )

    async def leave_share(self, share: Share) -> None:
        """End a shared subscription if this was its last consumer."""
        consumers = self.client.listener.consumers
        async with consumers.lock(share):
            if self.queue_id in consumers.busy:
                return
            if not share.is_durable:
                leave = partial(
                    shared_subscriptions.leave_shared, share.client_id, share.name
                )
            elif self.is_closed:
                leave = partial(unsubscribe, share.client_id, share.name)
            else:
                return
            await surely(self.client.listener, leave)


def unsubscribe(client_id: str, name: str, actor: str = "") -> None:
    """End a durable subscription, unless it has a consumer again; in a thread."""
    try:
        subscriptions.unsubscribe(client_id, name, actor=actor)
    except (NoSuchSubscription, SubscriptionInUse) as error:
        logger.info("A subscription is not ended: %s", error)


def end_later(client: Client, ending: Coroutine[Any, Any, None]) -> None:
    """Run the end of a consumer as a task; the client's next attaches wait for it."""
    listener = client.listener
    task = listener.loop.create_task(ending)
    listener.endings.add(task)
    task.add_done_callback(listener.endings.discard)
    listener.consumers.wait_for(client, task)


async def surely(listener: Listener, call: Callable[[], None]) -> None:
    """Run a call in a thread; retry it for half a minute while the database is away."""
    for wait_s in AGAIN_AFTER_S:
        try:
            await listener.database(call)
        except (DatabaseAway, DatabaseError) as error:
            logger.info("A subscription's end is tried again: %s", error)
            await asyncio.sleep(wait_s)
        except BrokerError as error:
            logger.warning("A subscription was not ended: %s", error)
            return
        else:
            return


class Remembered(End):
    """The ``End`` of a client that looks up a durable subscription to unsubscribe.

    It is not a consumer: nothing is sent to it.
    """

    kind = ClientEndpoint.Kind.GETS.value
    needs = None

    def __init__(self, client: Client, endpoint: Sender, found: Subscription) -> None:
        self.client = client
        self.endpoint = endpoint
        self.found = found
        self.node = found.address.name
        self.queue_id = found.queue_id

    def detached(self, closed: bool) -> None:  # noqa: FBT001 - as of every End
        """Unsubscribe if the link is closed; the kept messages are deleted."""
        if closed:
            end = partial(
                unsubscribe, self.found.client_id, self.found.name, self.client.actor
            )
            end_later(self.client, surely(self.client.listener, end))

    def lost(self) -> None:
        """Keep the subscription."""

    def snapshot(self) -> Snapshot:
        return Snapshot(0, 0, 0, 0)
