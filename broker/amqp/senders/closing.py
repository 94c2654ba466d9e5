"""The end of a link by which a client gets: settle its outcomes, give other entries
back.

The end waits for a running fetch, for outcomes on their way to the database, and for
the transactions of deliveries. Then it ends the unit of work.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from django.db import Error as DatabaseError

from broker.amqp.protocol import conditions as c
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.refusals import refusal
from broker.amqp.senders.settle import BACKED_OUT
from broker.errors import BrokerError, LockLost, NoSuchQueue
from broker.models import Subscription
from broker.queueing import subscriptions
from broker.queueing.get import Delivery
from broker.sql.threads import DatabaseAway
from broker.sql.waits import Waits

if TYPE_CHECKING:
    from broker.amqp.senders.sender import Gets

logger = logging.getLogger(__name__)

LOST = "The connection of its client was lost."
ENDED = "The unit of work that held the deliveries was ended."
AWAY_S = 1.0  # longest wait before a retry while the database is away


def why_it_ends(error: BaseException, node: str) -> AmqpError | None:
    """The error for a client whose fetch or outcome failed; None if the client can
    continue once the database is back."""
    if isinstance(error, DatabaseAway | DatabaseError):
        logger.warning("%s waits for the database: %s", node, error)
        return None
    if isinstance(error, LockLost):
        return AmqpError(c.DETACH_FORCED, ENDED)
    if isinstance(error, NoSuchQueue):
        return AmqpError(c.RESOURCE_DELETED, str(error))
    if not isinstance(error, BrokerError | AmqpError):
        logger.error("Gets from %s end.", node, exc_info=error)
    assert isinstance(error, Exception), "nothing else is a look's"
    return refusal(error)


class Parting:
    """The end of one Sender."""

    def __init__(
        self, gets: Gets, *, is_closed: bool = False, is_lost: bool = False
    ) -> None:
        """Prepare the ending.

        Args:
            gets: the end of the link.
            is_closed: whether the link was closed, not only detached.
            is_lost: whether the client vanished.
        """
        self.gets = gets
        self.is_closed = is_closed
        self.is_lost = is_lost
        self.listener = gets.client.listener
        self.over = gets.ended
        self.is_running = False
        self.waits = Waits(AWAY_S)

    def begin(self) -> None:
        self.listener.endings.add(self.over)
        self.over.add_done_callback(self.listener.endings.discard)
        if self.gets.is_settled:  # the entries were accepted before they were sent
            self.gets.held.clear()
        self.go_on()

    def go_on(self) -> None:
        """Take the next step, unless it has to wait."""
        gets, held = self.gets, self.gets.held
        if self.over.done() or self.is_running or gets.is_looking:
            return
        if gets.is_settled:
            held.clear()
        if not self.is_lost:
            self.give_back()
        if not (gets.settling.is_busy or held.is_busy()):
            self.end()

    def give_back(self) -> None:
        """Back out and count deliveries of a rolled-back transaction, as the client saw
        them. Release all other entries now if another transaction is still open."""
        settling, held = self.gets.settling, self.gets.held
        seen = [entry for entry in held.idle() if entry.was_rolled_back]
        if seen:
            settling.settle(BACKED_OUT, seen, None)
        if held.is_busy():
            settling.release(held.idle())

    def end(self) -> None:
        self.is_running = True
        held = self.gets.held
        unsent = [entry.got for entry in held if entry.sent is None]
        seen = [entry.got.message_id for entry in held if entry.sent is not None]
        call = partial(self.lose, unsent, next(iter(seen), None))
        future = self.listener.database(call if self.is_lost else self.leave)
        future.add_done_callback(self.ended)

    def lose(self, unsent: list[Delivery], first: int | None) -> None:
        """End the unit of work of a client that vanished; runs in a thread."""
        taker = self.gets.taker
        for unseen in (unsent, taker.stranded):
            if unseen:
                taker.give_back(unseen)
        taker.prefetched.lose(LOST, first=first)
        self.unsubscribe()

    def leave(self) -> None:
        """End the unit of work of a client that closed its link; runs in a thread."""
        self.gets.taker.prefetched.end()
        self.unsubscribe()

    def unsubscribe(self) -> None:
        if self.gets.subscription is not None:
            end_subscription(self.gets.subscription, is_closed=self.is_closed)

    def ended(self, future: asyncio.Future[None]) -> None:
        self.is_running = False
        if future.cancelled():
            self.finish()
            return
        error = future.exception()
        if isinstance(error, DatabaseAway | DatabaseError):
            # This process must try again: others release only the entries of dead
            # processes.
            logger.warning("Gets from %s end later: %s", self.gets.node, error)
            self.listener.loop.call_later(self.waits.next_s(), self.go_on)
            return
        if error is not None:
            logger.error("Gets from %s did not end.", self.gets.node, exc_info=error)
        self.finish()

    def finish(self) -> None:
        self.gets.held.clear()
        if not self.over.done():
            self.over.set_result(None)


def end_subscription(subscription: Subscription, *, is_closed: bool) -> None:
    """End a subscription with its endpoint, unless it must be kept."""
    try:
        if not subscription.durable:
            subscriptions.remove(subscription)
        elif is_closed:
            subscriptions.unsubscribe(subscription.client_id, subscription.name)
    except BrokerError as error:  # the subscription is gone, or has another consumer
        logger.info("Subscription %s is not ended: %s", subscription, error)
