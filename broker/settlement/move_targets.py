"""Queues that a consumer may move a message to by IBM MQ's rules, each read once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.conf import settings

from broker import sql
from broker.config.names import local_queue
from broker.errors import BrokerError, NoSuchQueue
from broker.errors.mq_codes import Reason
from broker.formats.mq import mqdlh
from broker.models import Kind, Queue
from broker.queueing import journal
from broker.queueing.get import Delivery
from broker.queueing.limits import refusal_now
from broker.queueing.routing import Route, Taker
from broker.security import authorities
from broker.settlement.mq_headers import for_backout_queue

# Checks the capacity of a queue for a number of bytes.
Full = Callable[[Queue, int], BrokerError | None]

PUT_WITH_CONTEXT: Sequence[authorities.Authority] = ("put", "passall")


@dataclass(frozen=True, slots=True)
class MoveTarget:
    """A queue, and what a move of one message to it follows from."""

    id: int | None  # None: no queue has this name
    name: str
    routing_type: int
    is_guarded: bool  # whether it may refuse a put
    address: str
    route: str  # all queues of its address, as copy.sql writes them
    policy: str  # of the queue that the message is on, as copy.sql writes it
    origin: str  # name of the queue that the message is on; empty: it was deleted
    error: str  # of the message's last backout
    at: datetime

    @property
    def only(self) -> Route:
        """The route to this queue alone."""
        assert self.id is not None, "it was found"
        return Route(self.address, [Taker(self.id, self.routing_type, "", self.name)])


@dataclass(slots=True)
class MoveTargets:
    """The queues that one delivery may be moved to.

    Attributes:
        delivery: the delivery.
        user: the user who moves it; None is the application itself.
        now: the current time; the database's clock when not given.
        full: says whether a guarded queue has room.
    """

    delivery: Delivery
    user: Any = None
    now: datetime | None = None
    full: Full = refusal_now
    read: dict[str, MoveTarget] = field(default_factory=dict)

    def target(self, name: str) -> MoveTarget:
        """The queue with a name, plain or fully qualified, or by an alias.

        Raises:
            NoSuchQueue: the name does not refer to exactly one queue.
        """
        if name not in self.read:
            found = self.look(name)
            self.read[name] = found if found.id else self.look(local_queue(name).name)
        return self.read[name]

    def look(self, name: str) -> MoveTarget:
        parameters = {
            "name": name,
            "queue_id": self.delivery.queue_id,
            "message_id": self.delivery.message_id,
            "back_out": Kind.BACK_OUT,
            "now": self.now,
        }
        (row,) = sql.run("look_target", parameters)
        return MoveTarget(*row)

    def refusal(self, name: str) -> BrokerError | None:
        """Why a queue refuses the delivery; None if it takes it. A guarded queue is
        locked, so that it has room until the transaction ends."""
        try:
            target = self.target(name)
        except NoSuchQueue as error:
            return error
        held = authorities.held_by(self.user)
        for authority in PUT_WITH_CONTEXT:
            if not held.on(authority, target.name):
                return authorities.refusal(self.user, authority, target.name)
        if not target.is_guarded:
            return None
        return self.full(local_queue(target.name), size_on(self.delivery, name))

    def reason(self, name: str) -> Reason | None:
        """The reason code of ``refusal``."""
        error = self.refusal(name)
        return error.reason if error else None

    @property
    def error(self) -> str:
        """The error of the delivery's last backout; empty if there was none."""
        for target in self.read.values():
            return target.error
        return journal.last_error(self.delivery.queue_id, self.delivery.message_id)


def size_on(delivery: Delivery, name: str) -> int:
    """The size in bytes of a delivery after its move, with its new headers."""
    if name == settings.BROKER_DEAD_LETTER_QUEUE:
        headers = len(delivery.headers or b"") + mqdlh.SIZE
    else:
        headers = len(for_backout_queue(delivery).headers or b"")
    return len(delivery.body) + headers
