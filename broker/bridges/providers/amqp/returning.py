"""Give messages back so that they are redelivered in order.

First the flow is stopped, or later messages would come before. Then the messages are
given back, with all that came after them. Providers differ:

=============  =====================================================================
Most           drain, then "released" or "modified"; messages return to their places
RabbitMQ       fails at a drain (3.10), so the credit is withdrawn; it does not
               support "modified"
ActiveMQ       redelivers a released message to the same consumer, after those it
               has prefetched. Messages of a consumer that has gone are redelivered
               in order, uncounted: so the consumer is replaced
=============  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.delivery import Delivery

if TYPE_CHECKING:
    from broker.bridges.providers.amqp.subscription import AmqpSubscription


def give_back(
    subscription: AmqpSubscription,
    deliveries: Sequence[Delivery],
    state: p.Released | p.Modified,
) -> None:
    """Give deliveries back, with those that wait here and were not received yet.

    Args:
        deliveries: deliveries in order; settled ones are left out.
        state: the state of these. The waiting ones are released.
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


def leaves_nothing(
    subscription: AmqpSubscription, deliveries: Sequence[Delivery]
) -> bool:
    """Whether no other delivery is unsettled, and the provider keeps messages while
    there is no consumer."""
    if subscription.source.is_topic and not subscription.is_durable:
        return False
    back = {one.id for one in deliveries}
    back |= {delivery.id for delivery, _ in subscription.waiting}
    return subscription.receiver.unsettled.keys() <= back


def stop(subscription: AmqpSubscription) -> None:
    """Withdraw all credit, and wait until no more messages can come."""
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


def wait(subscription: AmqpSubscription, holds: Callable[[], bool]) -> None:
    attachment = subscription.attachment
    subscription.wire.until(
        lambda: attachment.end or holds(), f"stop sending from {subscription.source}"
    )
    attachment.check()
