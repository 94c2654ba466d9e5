"""The current unit of work of a session."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial

from broker.errors import LockLost
from broker.models import UnitOfWork as UnitRow
from broker.queueing import tracing
from broker.queueing.get import Delivery, Next
from broker.queueing.put import NewMessage
from broker.queueing.selective_get import Search
from broker.security.authorities import Principal
from broker.settlement import settle
from broker.settlement.outcomes import BackOut, Release
from broker.settlement.poison import Last, Removing
from broker.transactions import prepared
from broker.transactions.scope import UnitOfWork
from broker.transactions.session import insist

LOST = "An earlier part of it was backed out by the system."


class Holding:
    """The unit of work of a session. When it ends, the next one begins."""

    def __init__(
        self, *, actor: str, user: Principal, now: Callable[[], datetime | None]
    ) -> None:
        self.actor = actor
        self.user = user
        self.now = now
        self.lost: LockLost | None = None  # a loss that was not reported yet
        self.work = self.begin()

    def begin(self) -> UnitOfWork:
        return UnitOfWork(actor=self.actor, user=self.user, now=self.now())

    def take_leave(self) -> UnitOfWork:
        """Take the unit of work, which the caller must end; the next one begins."""
        work, self.work = self.work, self.begin()
        work.now = self.now()
        return work

    def get(
        self, queue: str, limit: int, *, mark: bool, search: Search | None
    ) -> list[Delivery]:
        """As ``UnitOfWork.get``.

        Raises:
            LockLost: the unit of work was lost; the next one has begun.
        """
        with self.renewing():
            deliveries = self.work.get(queue, limit, mark=mark, search=search)
        if not deliveries and not is_open(self.work):
            work = self.take_leave()
            assert work.id is not None, "it was open once"
            raise LockLost(work.id)
        return deliveries

    def send(self, message: NewMessage) -> None:
        """As ``UnitOfWork.send``.

        Raises:
            LockLost: the unit of work was lost; the next one has begun.
        """
        with self.renewing():
            self.work.send(message)

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Begin the next unit of work if this one has ended, or was lost."""
        self.work.now = self.now()
        try:
            yield
        finally:
            if self.work.ended:
                self.work = self.begin()

    def has(self, delivery: Delivery) -> bool:
        return delivery.uow == self.work.id

    def accept(self, delivery: Delivery) -> bool:
        """Accept one delivery; return whether it was still held."""
        if not self.has(delivery):
            return False
        try:
            if self.work.held == 1:
                self.commit()
            else:
                self.work.accept(delivery)
        except LockLost:
            self.work = self.begin()
            return False
        return True

    def accept_and_get(self, delivery: Delivery, then: Next) -> list[Delivery]:
        """Accept the only delivery, and get the next ones in the same statement; they
        belong to the next unit of work. Of several deliveries, accept one and get none.
        """
        work = self.work
        if self.has(delivery) and work.held == 1:
            work.then = then
        self.accept(delivery)
        if work.following:
            self.work.note(work.following)
            tracing.received(then.queue, work.following)
        return work.following

    def release(self, deliveries: Sequence[Delivery]) -> None:
        """Release unseen deliveries, uncounted, if they are still held."""
        ours = [one for one in deliveries if self.has(one)]
        for queue_id in {one.queue_id for one in ours}:
            unseen = [one for one in ours if one.queue_id == queue_id]
            try:
                settle.settle_some(
                    unseen[0].uow,
                    queue_id,
                    [one.message_id for one in unseen],
                    Release(),
                    actor=self.actor,
                    now=self.now(),
                )
            except LockLost:
                continue  # the end of the unit of work will report it
            for one in unseen:
                self.unmark(one)
                self.work.forget(one)

    def remove(self, removing: Removing) -> None:
        """Move a poison message at the commit."""
        self.unmark(removing.delivery)
        self.work.remove(removing)

    def remove_now(self, removing: Removing, last: Last) -> None:
        """Move a poison message in a transaction of its own."""
        with self.settling_one():
            self.work.remove_now(removing, last=last)

    def reject(self, delivery: Delivery, error: str) -> None:
        """Reject one delivery in a transaction of its own."""
        with self.settling_one():
            self.work.reject(delivery, error)

    def reject_at_commit(self, delivery: Delivery, error: str) -> None:
        self.unmark(delivery)
        self.work.reject_at_commit(delivery, error)

    @contextmanager
    def settling_one(self) -> Iterator[None]:
        """Settle one delivery; end a unit of work that holds nothing after that."""
        try:
            yield
        except LockLost:
            if not is_open(self.work):
                self.work = self.begin()
            raise
        if not self.work.held and not self.work.puts:
            self.commit()

    def unmark(self, delivery: Delivery) -> None:
        """Remove the mark of a message that is not given to the application."""
        if self.work.mark is delivery:
            self.work.marked, self.work.mark = False, None

    def commit(self) -> None:
        """As ``UnitOfWork.commit``; it fails if an earlier part was lost unreported."""
        self.check_not_lost()
        self.take_leave().commit()

    def prepare(self, xid: str) -> None:
        """As ``prepared.prepare``; it fails if an earlier part was lost unreported. If
        the unit of work ends, the next one begins."""
        self.check_not_lost()
        self.work.coordinated = not self.work.marked
        try:
            with self.renewing():
                prepared.prepare(self.work, xid)
        finally:
            self.work.coordinated = False

    def check_not_lost(self) -> None:
        if (lost := self.lost) is not None:
            self.back_out(LOST)
            raise lost

    def back_out(self, error: str) -> None:
        """Back out for the application. A marked message stays, in the next unit of
        work."""
        self.lost = None
        work = self.take_leave()
        try:
            work.back_out(error)
        except LockLost:
            return  # the system has backed out the unit of work before
        if work.skipped is not None:
            self.work = work.skipped

    def close(self, error: str, *, counted: bool, at_once: bool) -> None:
        """End at the session's close; marks are ignored.

        Args:
            error: the reason, for the operator.
            counted: whether received messages count as backed out.
            at_once: whether they are redelivered without a delay.
        """
        work = self.take_leave()
        if counted:
            with suppress(LockLost):  # the system has backed it out before
                work.back_out(BackOut(error, at_once=at_once), by_system=True)
        elif work.id is not None:
            insist(partial(settle.end_if_held, work.id, Release(), **work.about))


def is_open(work: UnitOfWork) -> bool:
    """Whether the system has not backed the unit of work out."""
    return work.id is None or UnitRow.objects.filter(pk=work.id).exists()
