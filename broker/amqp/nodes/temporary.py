"""Temporary queues and topics, deleted with the endpoint that created them.

Only the connection that created one may get from it. Others may put to it, if they
have the authority for its name.

Source:
    AMQP 1.0, part 3, section 3.5.10: the lifetime delete-on-close.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from broker.amqp.messages.anonymous_relay import RelayTarget
from broker.amqp.nodes.detach import end_later, surely
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.endpoints import Receiver
from broker.amqp.protocol.types.types import Symbol
from broker.amqp.receivers.receiver import Puts
from broker.models import Subscription
from broker.queueing import processes, subscriptions

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

LIFETIME = {Symbol("lifetime-policy"): p.DeleteOnClose()}


async def make(client: Client, *, is_topic: bool = False) -> Subscription:
    """Create a temporary queue or topic for a client."""
    made: Subscription = await client.listener.database(in_thread, is_topic=is_topic)
    client.temporaries.add(made.queue.name)
    return made


def in_thread(*, is_topic: bool) -> Subscription:
    return subscriptions.open_temporary(owner=processes.current(), is_topic=is_topic)


def remove(client: Client, made: Subscription) -> None:
    """Delete the temporary queue or topic, with its messages."""
    client.temporaries.discard(made.queue.name)
    call = partial(subscriptions.remove, made)
    end_later(client, surely(client.listener, call))


class TemporaryPuts(Puts):
    """The ``End`` of a receiver that created its target, a temporary queue or topic."""

    def __init__(self, client: Client, endpoint: Receiver, made: Subscription) -> None:
        name = made.queue.name
        super().__init__(client, endpoint, RelayTarget(name, None), node=name)
        self.made = made

    def detached(self, closed: bool) -> None:  # noqa: FBT001 - as of every End
        super().detached(closed)
        remove(self.client, self.made)

    def lost(self) -> None:
        super().lost()
        remove(self.client, self.made)
