"""Answer of attaches: accept the target or source, or refuse it with an error.

===============================  ======================================================
A target                         is
===============================  ======================================================
with an address                  an address or queue to put to, or an alias of either
without an address               the anonymous relay: each message names its address
dynamic                          a temporary queue or topic, deleted with the link
a coordinator                    the coordinator of transactions
===============================  ======================================================

Sources are in ``sources``.

Source:
    AMQP 1.0, part 3, section 3.5, and part 4. "Using the AMQP Anonymous Terminus for
    Message Routing" 1.0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker.amqp.messages.anonymous_relay import (
    Meant,
    RelayTarget,
    bare,
    checked,
    place_of,
)
from broker.amqp.nodes import sources, temporary
from broker.amqp.nodes.source_request import QUEUES, TOPICS, kind_of
from broker.amqp.protocol import conditions as c
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.amqp.receivers.receiver import Puts
from broker.amqp.refusals import lacking, refusal
from broker.amqp.transactions.coordinator import CAPABILITIES, Coordinates
from broker.errors import BrokerError, NoSuchAddress

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

NO_TARGET = "An endpoint that sends needs a target."


async def attach(client: Client, endpoint: Endpoint, attach: p.Attach) -> None:
    """Answer an attach, and start its endpoint.

    Raises:
        AmqpError: the attach must be refused with this error.
        DatabaseError: the attach must be refused.
    """
    try:
        if isinstance(endpoint, Receiver):
            await to_put(client, endpoint, attach)
        else:
            assert isinstance(endpoint, Sender), "there are two kinds"
            await sources.to_get(client, endpoint, attach)
    except BrokerError as error:
        raise refusal(error) from error


async def to_put(client: Client, endpoint: Receiver, attach: p.Attach) -> None:
    target = attach.target
    if target is None:
        raise AmqpError(c.INVALID_FIELD, NO_TARGET)
    if isinstance(target, p.Coordinator):
        begin(endpoint, Coordinates(client, endpoint), target_of_coordinator())
    elif target.dynamic:
        await to_put_on_temporary(client, endpoint, target)
    else:
        name = bare(target.address or "")
        meant = Meant(checked(name), kind_of(target.capabilities))
        place = await place_for(client, meant) if name else None
        ends = Puts(client, endpoint, place, node=name)
        begin(endpoint, ends, granted(target, target.address))


def begin(
    endpoint: Receiver, end: Puts | Coordinates, target: p.Target | p.Coordinator
) -> None:
    """Accept the attach. A receiver that must stop at once learns this in
    ``flowed``."""
    endpoint.context = end
    endpoint.accept(target=target)
    end.flowed()


def target_of_coordinator() -> p.Coordinator:
    return p.Coordinator(capabilities=CAPABILITIES)


def granted(target: p.Target, address: str | None, **more: Any) -> p.Target:
    """The target as granted, for the answer to the client."""
    return p.Target(
        address=address,
        expiry_policy=target.expiry_policy,
        capabilities=tuple(
            one for one in target.capabilities if one.lower() in TOPICS | QUEUES
        ),
        **more,
    )


async def place_for(client: Client, meant: Meant) -> RelayTarget:
    """The target of a name, if the client may put to it.

    Raises:
        NoSuchAddress: there is no address, queue or alias of this name, or the client
            has no authority on it.
        NotAuthorized: the client lacks the authority to put.
    """
    place: RelayTarget = await client.listener.database(place_of, meant)
    needed = place.needs or place.address
    if needed in client.temporaries:
        return place._replace(needs=None)
    if not client.may("put", needed):
        raise lacking(client, "put", needed, NoSuchAddress(meant.name))
    return place


async def to_put_on_temporary(
    client: Client, endpoint: Receiver, target: p.Target
) -> None:
    """Create a temporary queue or topic, which is deleted with the endpoint."""
    is_topic = kind_of(target.capabilities) == "topic"
    made = await temporary.make(client, is_topic=is_topic)
    end = temporary.TemporaryPuts(client, endpoint, made)
    dynamic = {"dynamic": True, "dynamic_node_properties": temporary.LIFETIME}
    begin(endpoint, end, granted(target, made.queue.name, **dynamic))
