"""What tests do with a subscription again and again."""

from __future__ import annotations

from broker.bridges.providers.interface import Destination, Received
from broker.bridges.providers.stomp.session import StompSession
from broker.bridges.providers.stomp.subscription import StompSubscription
from broker.queueing.store import NewMessage

PATIENCE_S = 30.0  # on a machine that does much else
END = b"the end"
BRIEFLY_S = 0.3  # when nothing is to come


def take(
    subscription: StompSubscription, count: int, *, batch: int = 100
) -> list[Received]:
    """Receive so many messages, and acknowledge them."""
    found: list[Received] = []
    while len(found) < count:
        some = subscription.receive(min(batch, count - len(found)), PATIENCE_S)
        assert some, f"only {len(found)} of {count} came"
        subscription.acknowledge(some)
        found += some
    return found


def bodies(received: list[Received]) -> list[bytes]:
    return [one.message.body for one in received]


def left_on(session: StompSession, queue: Destination) -> list[bytes]:
    """The bodies of all that is there; it is gone afterwards."""
    session.send([text(0, body=END)], queue)
    subscription = session.subscribe(queue, prefetch=100)
    found: list[bytes] = []
    while END not in found:
        found += bodies(take(subscription, 1))
    subscription.close()
    return found[:-1]


def text(number: int, **fields: object) -> NewMessage:
    said = {"body": b"%d" % number, "content_type": "text/plain; charset=utf-8"}
    return NewMessage("orders", **{**said, **fields})  # type: ignore[arg-type]


def texts(count: int) -> list[NewMessage]:
    return [text(number) for number in range(count)]
