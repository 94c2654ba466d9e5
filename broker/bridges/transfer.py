"""The eight steps of a transfer, in the order of the manual.

Source:
    Open MQ, Administration Guide, "Message Processing Sequence Across a JMS Bridge";
    the rules BRIDGE-2 to BRIDGE-13.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Protocol

from broker.bridges.batch import (
    FIRST_BRANCH,
    FIRST_NO_TRANSFER,
    LOOPED,
    Batch,
    Notice,
    Sending,
)
from broker.bridges.books import Outcome
from broker.bridges.carrier import PATH, Carrier
from broker.bridges.messages import changed, copied
from broker.bridges.providers.interface import ProviderSubscription, Received
from broker.bridges.transformers.registry import BranchTo, Context, NoTransfer
from broker.bridges.transformers.running import transform
from broker.errors.bridges import TransformerFailed
from broker.models import Link
from broker.queueing.store import NewMessage

logger = logging.getLogger(__name__)

CARRIED = "This link has transferred it before: the links form a loop."
NO_TRANSFER = "The transformer returned NoTransfer, for the first time since the start."
BRANCHED = "The transformer branched to {}, for the first time since the start."


class Way(Protocol):
    """How a link sends and acknowledges a batch; see ``ways``. It may change the
    messages, as they are the link's own copies."""

    def carry(self, batch: Batch) -> None: ...


def transfer(  # noqa: C901, PLR0912, PLR0915  # the manual's steps, in one place
    carrier: Carrier,
    source: ProviderSubscription,
    way: Way,
    *,
    limit: int,
    wait_s: float,
    now: datetime | None = None,
) -> int:
    """Transfer the next messages of a source; return how many were received.

    Raises:
        TransformerFailed: the link must stop; the message is the first at its source.
        BridgeError: see ``ways``.
    """
    # 1. Receive, in the order of the source.
    carrier.confirm()
    received = source.receive(limit, 0 if carrier.is_ahead else wait_s)
    if not received:
        if wait_s:  # the link is idle: no next request soon commits the last batch
            carrier.finish()
        return 0
    batch = carrier.begun(received, now)
    failure: TransformerFailed | None = None
    for one in received:
        # 2. An expired message becomes a dead message.
        if why := expired(one, batch.now):
            bury(carrier, batch, one, Outcome.MESSAGE_EXPIRED, why)
            continue
        if has_looped(carrier, one):
            bury(carrier, batch, one, Outcome.LOOPED, CARRIED)
            continue
        # 3. Remove the reply address, unless it must be kept.
        message = without_reply_to(carrier.link, one.message)
        # 4. Transform.
        try:
            sending = transformed(carrier, batch, one, message)
        except TransformerFailed as error:
            if carrier.link.transform_failure == Link.TransformFailure.TRANSFER:
                sending = as_it_was(carrier, batch, one, message, error)
            elif carrier.link.consume_on_transform_error:
                bury(carrier, batch, one, Outcome.TRANSFORMER_FAILURE, error.why)
                continue
            else:
                batch.leave(one)
                failure = error
                break
        if sending is None:
            continue
        # 5. Tag the message with the name of the bridge.
        sending.message = tagged(carrier, sending.message)
        batch.send(sending)
    # 6. Send, with the original time to live, delivery mode and priority.
    # 7. Acknowledge to the source, or commit both ends.
    way.carry(batch)
    # 8. Log the transfer.
    log(carrier, batch)
    if failure is not None:
        raise failure
    return len(received)


def expired(one: Received, now: datetime) -> str:
    """The reason, a sentence with the expiry time, of an expired message; empty if it
    has not expired."""
    expires_at = one.message.expires_at
    if expires_at is None or expires_at > now:
        return ""
    return f"It expired at {expires_at}."


def bury(
    carrier: Carrier, batch: Batch, one: Received, outcome: Outcome, error: str
) -> None:
    """Turn a message into a dead message; it leaves its source."""
    reason = LOOPED if outcome is Outcome.LOOPED else outcome
    batch.dead.append(carrier.dead(one, reason, error, batch.now))
    batch.end(outcome)


def has_looped(carrier: Carrier, one: Received) -> bool:
    path = one.message.properties.get(PATH)
    return isinstance(path, str) and carrier.place in path.split(",")


def without_reply_to(link: Link, message: NewMessage) -> NewMessage:
    if link.retain_reply_to or message.reply_to is None:
        return message
    return changed(message, reply_to=None)


def transformed(
    carrier: Carrier, batch: Batch, one: Received, message: NewMessage
) -> Sending | None:
    """Transform a message; None if it must not be sent.

    Raises:
        TransformerFailed: the transformer raised an error, returned an invalid value,
            or took too long.
    """
    link = carrier.link
    target = carrier.configured_target or one.destination
    if not link.transformer:
        return Sending(one, message, target, Outcome.TRANSFERRED, transformed=False)
    outcome = transform(
        link.transformer,
        message,
        Context.of(link, link.properties),
        time_limit_s=link.transformer_time_limit_s,
    )
    match outcome:
        case NoTransfer():
            if not carrier.told_no_transfer:
                carrier.told_no_transfer = True
                dead = carrier.dead(
                    one,
                    FIRST_NO_TRANSFER,
                    NO_TRANSFER,
                    batch.now,
                    notice=Notice.NOT_WANTED,
                )
                batch.dead.append(dead)
            batch.end(Outcome.NOT_TRANSFERRED)
            return None
        case BranchTo(destination, branch):
            if not carrier.told_branch:
                carrier.told_branch = True
                error = BRANCHED.format(destination)
                dead = carrier.dead(
                    one,
                    FIRST_BRANCH,
                    error,
                    batch.now,
                    target=destination,
                    notice=Notice.DELIVERED,
                )
                batch.dead.append(dead)
            return Sending(one, branch, destination, Outcome.BRANCHED, transformed=True)
        case _:
            return Sending(one, outcome, target, Outcome.TRANSFERRED, transformed=True)


def as_it_was(
    carrier: Carrier,
    batch: Batch,
    one: Received,
    message: NewMessage,
    error: TransformerFailed,
) -> Sending:
    """As in Open MQ 4.4: send the message untransformed, and a notice to the dead
    message queues."""
    dead = carrier.dead(
        one,
        Outcome.TRANSFORMER_FAILURE,
        error.why,
        batch.now,
        notice=Notice.DELIVERED,
    )
    batch.dead.append(dead)
    target = carrier.configured_target or one.destination
    return Sending(one, message, target, Outcome.TRANSFERRED, transformed=False)


def tagged(carrier: Carrier, message: NewMessage) -> NewMessage:
    """The link's own copy, with the bridge's tag and the loop guard's property."""
    if not carrier.tags:
        return copied(message)
    # All messages share one object, which is encoded only once for each batch.
    if not message.properties:
        return changed(message, properties=carrier.tags)
    properties = {**message.properties, **carrier.tags}
    before = message.properties.get(PATH)
    if carrier.link.loop_guard and isinstance(before, str) and before:
        properties[PATH] = f"{before},{carrier.place}"
    return changed(message, properties=properties)


def log(carrier: Carrier, batch: Batch) -> None:
    if not carrier.link.bridge.log_transfers or not logger.isEnabledFor(logging.INFO):
        return
    for one in batch.sends:
        logger.info(
            "%s: transferred %s -> %s",
            carrier.name,
            one.received.message_id,
            one.message.message_id,
        )
