"""A leased unit of work: no database transaction is open between two calls.

Its entries are claimed for this process; its puts wait in memory until commit.
"""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, transaction

from broker.errors import BrokerError, LockLost, UnitOfWorkEnded
from broker.errors.units_of_work import BackedOut, TooMuchUncommitted
from broker.formats.error_fingerprint import readable
from broker.formats.mq.mqdlh import Signature
from broker.queueing import delayed, processes, tracing
from broker.queueing.get import Delivery, Lanes, Next, entry_of, get
from broker.queueing.put import NewMessage, put_as_given
from broker.queueing.selective_get import Finder
from broker.queueing.transfer import TakenEntry
from broker.settlement import confirmations, expiry, poison, settle
from broker.settlement.outcomes import (
    Accept,
    BackOut,
    Failure,
    Outcome,
    Reject,
    Release,
    describe,
)
from broker.settlement.redelivery_policy import Disposition, NoPlace, Removal
from broker.sql.lines import database
from broker.transactions import put_only, session, skipped
from broker.transactions.group_commit import GroupAnswer, GroupCommit
from broker.transactions.session import insist

PART = 200  # most entries of one claim


class UnitOfWork:
    """An open unit of work. It ends once: by ``commit`` or by ``back_out``.

    Use it in one thread.

    Args:
        actor: name that the journal records.
        user: the user whose authorities apply when a poison message is moved; None is
            the application itself, which needs no authority.
        coordinated: whether an external coordinator decides its end (``prepared``).
        now: the current time, for tests; the database's clock when not given.
    """

    def __init__(
        self,
        *,
        actor: str = "",
        user: Any = None,
        coordinated: bool = False,
        now: datetime | None = None,
    ) -> None:
        self.actor = actor
        self.user = user
        self.coordinated = coordinated
        self.now = now
        # None until a get finds an entry, or puts take more than a second.
        self.id: int | None = None
        # Queue and message of entries whose acceptance is to be confirmed.
        self.to_confirm: set[tuple[int, int]] = set()
        self.held = 0  # entries neither accepted nor released yet
        self.claims = 0
        # Of each delivery: what a failure needs of its entry.
        self.got: list[tuple[Any, ...]] = []
        self.puts: list[NewMessage] = []
        self.put_bytes = 0
        self.put_since_s: float | None = None  # time of the first put
        self.removing: list[poison.Removing] = []  # poison messages to move at commit
        # Error by queue and message of deliveries that the commit rejects.
        self.rejecting: dict[tuple[int, int], str] = {}
        self.marked = False  # whether a get was marked; only one in a unit of work
        self.mark: Delivery | None = None  # the marked delivery, unless it is settled
        self.skipped: UnitOfWork | None = None  # keeps the marked delivery on a backout
        # What its end gets for the next unit of work, if one statement does both.
        self.then: Next | None = None
        # Deliveries that its end got; they belong to the next unit of work.
        self.following: list[Delivery] = []
        # Others with which it may be committed by one statement.
        self.group: GroupCommit | None = None
        # What the task of its one message returned, as JSON; kept with the acceptance.
        self.returned: str | None = None
        self.ended = False

    def get(
        self,
        queue: str,
        limit: int = 1,
        *,
        mark: bool = False,
        search: Finder | None = None,
        pooled: bool = False,
    ) -> list[Delivery]:
        """Claim up to ``limit`` entries; an empty list if nothing is ready.

        Args:
            queue: name of the queue.
            limit: the largest number of entries.
            mark: mark the entry. A backout by the application skips it: it stays
                claimed by ``skipped``, a new unit of work.
            search: a selective get from this queue; only matching entries are taken.
            pooled: whether a ConnectionConsumer gets.

        Raises:
            SecondMark: an entry is marked already.
            MarkNotPossible: it is switched off, or there is another coordinator.
            TooMuchUncommitted: it would hold more than the broker allows.
        """
        self.check_open()
        if mark:
            skipped.check_mark(self)
            limit = 1
        limit = min(limit, self.room())
        find = partial(self.find, queue, limit, search=search, pooled=pooled)
        deliveries = find()
        while not deliveries and delayed.wake_due_on(queue, limit=limit, now=self.now):
            deliveries = find()
        if not deliveries:
            expiry.expire_on(queue, now=self.now)
        elif mark:
            self.marked, self.mark = True, deliveries[0]
        if self.puts:
            self.watch()
        if not pooled:
            tracing.received(queue, deliveries)
        return deliveries

    def find(
        self, queue: str, limit: int, *, search: Finder | None, pooled: bool
    ) -> list[Delivery]:
        take = partial(self.take, queue, pooled=pooled)
        if search is None:
            return take(None, limit)
        return search.get(take, limit, now=self.now)

    def take(
        self, queue: str, lanes: Lanes | None, limit: int, *, pooled: bool
    ) -> list[Delivery]:
        deliveries = get(
            queue,
            owner=processes.current(),
            uow=self.id,
            claim_id=self.claims,
            limit=limit,
            lanes=lanes,
            pooled=pooled,
            **self.about,
        )
        self.note(deliveries)
        return deliveries

    def note(self, deliveries: list[Delivery]) -> None:
        """Count entries of a get; if none, check that this process is registered."""
        if deliveries:
            self.id = deliveries[0].uow
            self.held += len(deliveries)
            self.got += map(entry_of, deliveries)
            self.claims += -(-len(deliveries) // PART)
            if any(one.descriptor for one in deliveries):
                self.to_confirm |= confirmations.places_of(deliveries)
        elif self.id is None and not connection.in_atomic_block:
            processes.renew()

    def put(self, address: str, body: bytes = b"", **fields: Any) -> None:
        """Put a message at commit; see ``put.NewMessage``.

        Raises:
            TooMuchUncommitted: the unit of work would hold more than the broker allows.
        """
        self.send(NewMessage(address, body, **fields))

    def send(self, *messages: NewMessage) -> None:
        """Like ``put``, for message objects: all or none."""
        self.check_open()
        self.room(len(messages))
        put_bytes = self.put_bytes + sum(one.size_bytes for one in messages)
        if put_bytes > (most := settings.BROKER_MAX_UNCOMMITTED_BYTES):
            raise TooMuchUncommitted("bytes", most)
        self.puts += tracing.created(messages)
        self.put_bytes = put_bytes
        self.watch()

    def watch(self) -> None:
        """Have a row inserted if the unit of work only puts, and takes long; have the
        number of its puts noted."""
        put_only.watch(self)

    def accept(self, delivery: Delivery) -> None:
        """Accept one delivery before the others."""
        asks = (delivery.queue_id, delivery.message_id) in self.to_confirm
        self.settle_one(delivery, Accept(), confirms=asks)

    def release(self, delivery: Delivery) -> None:
        """Release one delivery, without counting a backout."""
        self.settle_one(delivery, Release())

    def reject(self, delivery: Delivery, error: str) -> None:
        """Dead-letter one delivery at once (``settlement.outcomes.Reject``)."""
        self.settle_one(delivery, Reject(error))

    def reject_at_commit(self, delivery: Delivery, error: str) -> None:
        """Dead-letter one delivery at commit; a backout returns it to its queue."""
        self.check_open()
        self.rejecting[delivery.queue_id, delivery.message_id] = readable(error)

    def settle_one(
        self, delivery: Delivery, outcome: Outcome, *, confirms: bool = False
    ) -> None:
        self.check_open()
        which = delivery.uow, delivery.queue_id, [delivery.message_id]
        settle.settle_some(*which, outcome, confirms=confirms, **self.about)
        self.forget(delivery)

    def remove(self, removing: poison.Removing) -> None:
        """Move a poison message away at commit.

        A backout returns the message to its queue, like all other messages.
        """
        self.check_open()
        self.removing.append(removing)

    def remove_now(
        self,
        removing: poison.Removing,
        *,
        last: poison.Last,
        signature: Signature = poison.CONSUMER,
    ) -> Removal:
        """Move a message away at once, with or without a commit; see ``poison``."""
        self.check_open()
        moved = self.remove_alone(removing, signature, user=self.user)
        if moved is not None:
            return moved
        removal = poison.take_away(
            removing, last=last, signature=signature, user=self.user, **self.about
        )
        if not (isinstance(removal, NoPlace) and last is poison.Last.STOP):
            self.forget(removing.delivery)
        return removal

    def remove_alone(
        self, removing: poison.Removing, signature: Signature, *, user: Any
    ) -> Removal | None:
        """Move the only message away by one statement, which ends the unit of work in
        the database. The next get begins another one. None: it was not done.

        Args:
            removing: the message, and the reason.
            signature: of the header that it gets on the dead letter queue.
            user: the user whose authorities apply; None is the application itself.
        """
        others = self.puts or self.removing or self.rejecting or self.marked
        if self.held != 1 or len(self.got) != 1 or others or connection.in_atomic_block:
            return None
        removal = poison.move_alone(
            removing, signature=signature, user=user, **self.about
        )
        if removal is not None:
            self.forget(removing.delivery)
            self.got.clear()
            self.id, self.claims = None, 0
        return removal

    def forget(self, delivery: Delivery) -> None:
        """Note that a delivery is not held any more."""
        self.held -= 1
        self.to_confirm.discard((delivery.queue_id, delivery.message_id))
        if self.mark == delivery:
            self.mark = None

    def commit(self) -> None:
        """Accept all entries and send all puts, in one transaction.

        Raises:
            LockLost: the system has backed out the unit of work before.
            BackedOut: it could not be committed, so it was backed out now.
        """
        self.check_open()
        session.renew()
        line = None
        django = database()
        alone = self.only_accepts() and not django.in_atomic_block
        if alone and self.commit_with_others():
            return
        try:
            django.ensure_connection()
            with nullcontext() if alone else transaction.atomic():
                line = django.connection
                self.carry_out()
        except LockLost:
            self.ended = True
            raise
        except (BrokerError, DatabaseError) as error:
            if line is None or not is_undone(self, error, in_doubt=bool(line.closed)):
                raise
            raise BackedOut(str(error)) from error
        self.ended = True

    def commit_with_others(self) -> bool:
        """Be committed by the group, if there is one; return whether it was done."""
        if self.group is None or self.id is None:
            return False
        gets, returned = self.then is not None, self.returned
        return self.heed(
            self.group.accept(self.id, held=self.held, gets=gets, returned=returned)
        )

    def heed(self, answer: GroupAnswer) -> bool:
        """End as the group says; return whether it was done.

        Raises:
            BackedOut: it could not be committed, so it was backed out now.
            DatabaseError: it is unknown whether it was committed.
        """
        if answer.in_doubt is not None:
            if not is_undone(self, answer.in_doubt, in_doubt=True):
                raise answer.in_doubt
            raise BackedOut(str(answer.in_doubt)) from answer.in_doubt
        if answer.deliveries is None:
            return False
        self.following, self.ended = answer.deliveries, True
        return True

    def only_accepts(self) -> bool:
        """Whether its commit is one statement, which needs no transaction."""
        return not (self.puts or self.removing or self.rejecting or self.to_confirm)

    @property
    def about(self) -> dict[str, Any]:
        """Actor and time, for the functions that settle."""
        return {"actor": self.actor, "now": self.now}

    def carry_out(self) -> None:
        about = self.about
        then, self.then = self.then, None  # nothing follows a commit that fails
        if self.puts:
            put_as_given(self.puts, uow=self.id, **about)
        for one in self.removing:
            self.to_confirm.discard((one.delivery.queue_id, one.delivery.message_id))
            poison.take_away(one, last=poison.Last.DISCARD, user=self.user, **about)
        if self.id is not None:
            settle.reject_some(self.id, self.rejecting, **about)
            self.to_confirm -= self.rejecting.keys()
            expected = self.held - len(self.removing) - len(self.rejecting)
            self.following = settle.accept(
                self.id, expected=expected, then=then, returned=self.returned, **about
            )
        if self.to_confirm:
            confirmations.confirm(self.to_confirm, uow=self.id, **about)

    def back_out(
        self, error: str | Failure, *, by_system: bool = False
    ) -> list[Disposition]:
        """Back out all entries, count each backout, and drop the puts.

        If the application backs out, a marked entry is skipped. It stays claimed by the
        unit of work ``skipped``, which must be ended, too.

        Args:
            error: the error text, for the operator; or the outcome of all deliveries.
            by_system: not by the application; a marked entry is backed out, too.

        Raises:
            LockLost: the system has backed out the unit of work before.
        """
        self.check_open()
        self.ended = True
        if self.id is None:
            return []
        outcome = BackOut(error) if isinstance(error, str) else error
        if by_system:
            self.then = None
        if self.mark is None or by_system:
            return self.end_as(self.id, outcome)
        with transaction.atomic():
            self.skipped = self.skip(self.mark, outcome.error)
            return self.end_as(self.id, outcome)

    def end_as(self, uow: int, outcome: Failure) -> list[Disposition]:
        if not self.held:  # all deliveries were settled one by one
            insist(partial(settle.accept, uow, expected=0, **self.about))
            return []
        return self.end_failed(uow, outcome)

    def end_failed(self, uow: int, outcome: Failure) -> list[Disposition]:
        whole = len(self.got) == self.held  # no delivery was settled by itself
        known = [TakenEntry(*one) for one in sorted(self.got)] if whole else []
        which = uow, outcome, known, self.then
        ended = insist(partial(settle.end_and_get, *which, **self.about))
        self.following = ended.following
        return ended.dispositions

    def skip(self, delivery: Delivery, error: str) -> UnitOfWork:
        """Move one delivery into a new unit of work.

        Source:
            IBM MQ, "Skipping backout": the message is not reinstated, and is in a new
            unit of work as if it had been got in it, without the mark.
        """
        after = UnitOfWork(user=self.user, **self.about)
        after.id = settle.carry_over(delivery, error, **self.about)
        after.held = after.claims = 1
        self.forget(delivery)
        return skipped.watched(after)

    def check_open(self) -> None:
        if self.ended:
            raise UnitOfWorkEnded(self.id)
        if self.put_since_s is not None:
            put_only.unwatch(self)

    def room(self, needed: int = 1) -> int:
        """The number of messages that still fit; raises an error if too few do."""
        most: int = settings.BROKER_MAX_UNCOMMITTED_MESSAGES
        left = most - self.held - len(self.puts)
        if left < needed:
            raise TooMuchUncommitted("messages", most)
        return left


def is_undone(work: UnitOfWork, error: Exception, *, in_doubt: bool) -> bool:
    """Back a unit of work out whose commit failed; return whether it is known that
    nothing was committed.

    Args:
        work: the unit of work.
        error: why it failed.
        in_doubt: whether the connection was lost during the commit. If another one can
            still back the unit of work out, nothing was committed; if not, the journal
            has the answer.
    """
    if in_doubt and work.id is None:
        return False
    try:
        work.back_out(describe(error), by_system=True)
    except LockLost:  # the unit of work has ended already
        return not in_doubt
    return True
