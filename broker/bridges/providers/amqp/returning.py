"""Giving messages back, so that they come again in the order in which they came.

First nothing more may be under way, or what comes later would come before. Then what
was received goes back with all that came behind it. How, is a matter of the provider:

=============  =====================================================================
Most           drain, then "released" or "modified"; there it stands in its old place
RabbitMQ       breaks at a drain (3.10), so that credit is taken back; it knows no
               "modified"
ActiveMQ       gives what was released to the same consumer, behind what it holds for
               it; what a consumer had that is gone, all others get in the old order,
               uncounted
=============  =====================================================================
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Receiver
from broker.bridges.providers.amqp.attachment import Attachment
from broker.bridges.providers.amqp.wire import Wire
from broker.bridges.providers.interface import Destination


class Returning(Protocol):
    """An ``AmqpSubscription``, as far as it gives messages back."""

    wire: Wire
    source: Destination
    is_durable: bool
    receiver: Receiver
    attachment: Attachment
    waiting: deque[tuple[Delivery, datetime]]

    def renew(self) -> None: ...


def give_back(
    subscription: Returning,
    deliveries: Sequence[Delivery],
    state: p.Released | p.Modified,
) -> None:
    """Give back, and with it what has come and was not received yet.

    Args:
        deliveries: in the order in which they came; those that are settled are left
            out.
        state: of these. The others are released.
    """
    wire = subscription.wire
    if wire.is_activemq and leaves_nothing(subscription, deliveries):
        subscription.renew()
        return
    stop(subscription)
    if wire.is_rabbitmq:
        state = p.Released()
    wire.session.settle(deliveries, state)
    behind = [delivery for delivery, _ in subscription.waiting]
    subscription.waiting.clear()
    wire.session.settle(behind, p.Released())
    wire.flush()


def leaves_nothing(subscription: Returning, deliveries: Sequence[Delivery]) -> bool:
    """Whether nothing is in hand but these, and messages wait for a consumer that is
    away."""
    if subscription.source.is_topic and not subscription.is_durable:
        return False
    back = {one.id for one in deliveries}
    back |= {delivery.id for delivery, _ in subscription.waiting}
    return subscription.receiver.unsettled.keys() <= back


def stop(subscription: Returning) -> None:
    """Take all credit back, and wait until nothing more can come."""
    receiver = subscription.receiver
    if not receiver.credit:
        return
    if subscription.wire.is_rabbitmq:
        for _ in range(2):  # the first answer may be to an earlier grant
            receiver.grant(0, echo=True)
            wait(subscription, lambda: receiver.told_credit is not None)
    else:
        receiver.grant(receiver.credit, drain=True)
        wait(subscription, lambda: not receiver.credit)


def wait(subscription: Returning, holds: Callable[[], bool]) -> None:
    attachment = subscription.attachment
    subscription.wire.until(
        lambda: attachment.end or holds(), f"stop sending from {subscription.source}"
    )
    attachment.check()
