"""Prefetch: one unit of work that lasts as long as its consumer.

Its deliveries are settled one by one (``settlement.batch``). It has no effective
deadline: it lasts while the client sends heartbeats and the process holds its lock.
When the consumer ends, its entries are released; if the client was lost, a backout may
be counted (``Prefetched.lose``).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from django.db import Error as DatabaseError
from django.db.models import Exists

from broker import sql
from broker.config.address_settings import policy_of, settings_for
from broker.errors import BrokerError, LockLost, NoSuchQueue, UnitOfWorkEnded
from broker.models import Claim, Queue, UnitOfWork
from broker.queueing import delayed, processes
from broker.queueing.get import CAME_BACK, HIGHEST, LOWEST, NEW, Delivery, Lanes, get
from broker.queueing.low_watermarks import FLOORS
from broker.queueing.selective_get import Search
from broker.settlement import expiry, poison, settle
from broker.settlement.outcomes import Release
from broker.settlement.poison import Attributes, Last, Policy, Removing

PART = 200  # most entries of one claim


class Prefetched:
    """Gets entries of one queue ahead of the client.

    Call it from one thread at a time; other threads may settle its deliveries. It can
    be used again after a database error: if the answer of a get was lost, the entries
    of that get are released.

    Args:
        queue: the queue to get from.
        search: a selective get from this queue; only matching entries are taken.
        actor: name that the journal records.
        user: the user whose authorities apply when a poison message is moved; None is
            the application itself.
    """

    def __init__(
        self,
        queue: Queue,
        *,
        search: Search | None = None,
        actor: str = "",
        user: Any = None,
    ) -> None:
        self.queue = queue
        self.search = search
        self.actor = actor
        self.user = user
        self.uow: int | None = None  # id of the unit of work; None until the first get
        # Priority and message id of entries that are not taken.
        self.hidden: set[tuple[int, int]] = set()
        self.claims = 0  # number of claims by gets that have returned
        # Whether a get has failed: then there may be claims that this object does not
        # know.
        self.is_doubtful = False
        self.attributes: Attributes | None = None
        self.ended = False

    def get(self, limit: int, *, now: datetime | None = None) -> list[Delivery]:
        """Take up to ``limit`` entries; an empty list if nothing is ready.

        Due entries are made ready, and expired entries are ended, as for any consumer.
        On a queue with IBM MQ's poison policy, a poison message is moved away at once,
        as for a listener. The queue's attributes are read once, at the first message
        that was backed out before. After an error, all entries that this get has taken
        are on the queue again.

        Raises:
            LockLost: the unit of work was ended, by the system or an operator; it holds
                nothing any more. Create another consumer.
            NoSuchQueue: the queue was deleted.
            NotAuthorized: a message was backed out before, and the user has no
                authority to inquire the queue; the message stays on the queue, and no
                backout is counted.
            UnitOfWorkEnded: this consumer has ended.
        """
        self.begin(now)
        self.is_doubtful = True
        try:
            fit, claims = self.take_fit(limit, now)
        except BaseException:
            with suppress(BrokerError, DatabaseError):
                self.give_back_stray(now)
            raise
        self.claims, self.is_doubtful = claims, False
        if not fit:
            self.check_is_there()
        return fit

    def begin(self, now: datetime | None) -> None:
        """Create a unit of work before the first get, so that its id is known, and no
        entry is lost if an answer is lost."""
        if self.ended:
            raise UnitOfWorkEnded(self.uow)
        if self.uow is None:
            self.uow, self.claims = begun(now), 0
        if self.is_doubtful:
            self.give_back_stray(now)

    def take_fit(self, limit: int, now: datetime | None) -> tuple[list[Delivery], int]:
        """Take entries that can be given to the client; return them, and the number of
        claims."""
        fit: list[Delivery] = []
        claims = self.claims
        while len(fit) < limit:
            deliveries, claims = self.take_due(limit - len(fit), claims, now)
            fresh = [one for one in deliveries if not self.takes_away(one, now)]
            fit += fresh
            if len(fresh) == len(deliveries):
                break
        return fit, claims

    def take_due(
        self, limit: int, claims: int, now: datetime | None
    ) -> tuple[list[Delivery], int]:
        taking = Taking(self, claims, now)
        deliveries = taking.get(limit)
        name = self.queue.name
        while not deliveries and delayed.wake_due_on(name, limit=limit, now=now):
            deliveries = taking.get(limit)
        if not deliveries:
            expiry.expire_on(name, now=now)
        return deliveries, taking.claims

    def takes_away(self, delivery: Delivery, now: datetime | None) -> bool:
        """Take a message away if it is poison; return whether it was poison."""
        if not delivery.backout_count:
            return False
        if self.attributes is None:
            self.attributes = self.read_attributes()
        if not self.attributes.is_poison(delivery.backout_count):
            return False
        poison.take_away(
            Removing(delivery, self.attributes.backout_queue),
            last=Last.RETURN,
            user=self.user,
            actor=self.actor,
            now=now,
        )
        return True

    def read_attributes(self) -> Attributes:
        """The attributes of the queue. If consumers treat no message as poison, the
        authority to inquire is not needed."""
        queue = Queue.objects.select_related("address").get(pk=self.queue.pk)
        policy = policy_of(settings_for(queue.address.name), queue.backout_threshold)
        if policy not in (Policy.IBM, Policy.BOTH):
            return Attributes(queue.name, 0, queue.backout_queue)
        return poison.attributes_of(queue.name, user=self.user)

    def check_is_there(self) -> None:
        """Find out why nothing was got.

        Raises:
            NoSuchQueue: the queue was deleted.
            LockLost: the unit of work has ended.
        """
        assert self.uow is not None, "a get began it"
        alive = Exists(UnitOfWork.objects.filter(pk=self.uow))
        row = Queue.objects.filter(pk=self.queue.pk).values_list(alive).first()
        if row is None:
            raise NoSuchQueue(self.queue.name)
        if row == (False,):
            raise LockLost(self.uow)

    def give_back(
        self,
        deliveries: Sequence[Delivery] | None = None,
        *,
        now: datetime | None = None,
    ) -> None:
        """Release deliveries: they return to the queue at once, without counting a
        backout.

        Args:
            deliveries: the deliveries to release. None: release all that are held, and
                end the unit of work; the next get begins another.
            now: the current time; the database's clock when not given.

        Raises:
            LockLost: the unit of work no longer holds one of them; then none is
                released.
        """
        if deliveries is None:
            if self.uow is not None:
                settle.end_if_held(self.uow, Release(), actor=self.actor, now=now)
            self.uow, self.is_doubtful = None, False
        elif deliveries:
            settle.settle_some(
                deliveries[0].uow,
                self.queue.pk,
                [one.message_id for one in deliveries],
                Release(),
                actor=self.actor,
                now=now,
            )

    def give_back_stray(self, now: datetime | None) -> None:
        """Release entries that were claimed by gets that did not return."""
        assert self.uow is not None, "a get began it"
        stray = Claim.objects.filter(uow=self.uow, claim_id__gte=self.claims)
        for uow, queue_id, ids in stray.values_list("uow", "queue_id", "ids"):
            settle.settle_some(uow, queue_id, ids, Release(), actor=self.actor, now=now)
        self.is_doubtful = False

    def lose(
        self, error: str, *, first: int | None = None, now: datetime | None = None
    ) -> None:
        """End the unit of work of a client whose connection was lost.

        The queue decides which entries count as backed out
        (``Queue.counts_when_lost``). Call ``give_back`` first for the entries that were
        never sent to the client. The call has no effect if the unit of work has ended
        already.

        Args:
            error: the error text, for the operator.
            first: id of the message that was sent to the client first; if the queue
                counts only the oldest, it counts this one. None: the lowest id.
            now: the current time; the database's clock when not given.
        """
        self.ended = True
        if self.uow is None:
            return
        if self.is_doubtful:
            self.give_back_stray(now)
        settle.end_lost(self.uow, error, first=first, actor=self.actor, now=now)
        self.uow = None

    def end(self, *, now: datetime | None = None) -> None:
        """Release all remaining entries, without counting a backout, and end. May be
        called twice."""
        self.ended = True
        self.give_back(now=now)


class Taking:
    """Successive gets of one consumer."""

    def __init__(self, consumer: Prefetched, claims: int, now: datetime | None) -> None:
        self.consumer = consumer
        self.claims = claims
        self.now = now

    def get(self, limit: int) -> list[Delivery]:
        search = self.consumer.search
        if search is not None:
            return search.get(self.take_visible, limit, now=self.now)
        hidden = self.consumer.hidden
        lanes = lanes_around(self.consumer.queue.name, hidden) if hidden else None
        return self.take(lanes, limit)

    def take_visible(self, lanes: Lanes, limit: int) -> list[Delivery]:
        """Get from lanes that contain one entry each, except hidden entries."""
        hidden = places_of(self.consumer.hidden)
        seen = [lane for lane in zip(*lanes, strict=True) if lane[:2] not in hidden]
        return self.take(laid(seen), limit) if seen else []

    def take(self, lanes: Lanes | None, limit: int) -> list[Delivery]:
        deliveries = get(
            self.consumer.queue.name,
            owner=processes.current(),
            uow=self.consumer.uow,
            claim_id=self.claims,
            limit=limit,
            lanes=lanes,
            actor=self.consumer.actor,
            now=self.now,
        )
        self.claims += -(-len(deliveries) // PART)
        return deliveries


def begun(
    now: datetime | None,
    *,
    age: timedelta = timedelta(0),
    timeout: timedelta | None = None,
    puts: int = 0,
) -> int:
    """A new unit of work of this process, which registers again if it counts as dead.

    Args:
        now: the current time; the database's clock if None.
        age: the time since it began.
        timeout: the time from its beginning to its deadline; None: no deadline.
        puts: the number of messages that it has put already.
    """
    about = {"now": now, "age": age, "timeout": timeout, "puts": puts}
    while True:
        rows = sql.run("begin", {"owner": processes.current(), **about})
        if rows:
            ((uow,),) = rows
            assert isinstance(uow, int)
            return uow
        processes.renew()


def places_of(hidden: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Priorities and possible positions of entries: new, or returned."""
    return {(p, pos) for p, one in hidden for pos in (one, one - CAME_BACK)}


def lanes_around(queue: str, hidden: set[tuple[int, int]]) -> Lanes:
    """The lanes of a whole queue without the positions of hidden entries."""
    places = places_of(hidden)
    lanes: list[tuple[int, int, int]] = []
    for priority, floor in zip(range(9, -1, -1), FLOORS.of(queue), strict=True):
        out = sorted(pos for one, pos in places if one == priority)
        for low, high in ((LOWEST, NEW), (floor, HIGHEST)):
            ends = [pos for pos in out if low <= pos < high]
            lows = [low, *(pos + 1 for pos in ends)]
            lanes += zip([priority] * len(lows), lows, [*ends, high], strict=True)
    return laid(lanes)


def laid(lanes: Sequence[tuple[int, int, int]]) -> Lanes:
    return Lanes(*(list(column) for column in zip(*lanes, strict=True)))
