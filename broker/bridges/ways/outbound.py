"""From a queue of this broker to another provider."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import Error as DatabaseError
from django.db import transaction

from broker.bridges.batch import Batch, Sending
from broker.bridges.books import Outcome
from broker.bridges.carrier import Carrier, dead_entries
from broker.bridges.dead_messages import bury
from broker.bridges.messages import new_ids, rename
from broker.bridges.providers import local
from broker.bridges.providers.interface import ProviderSession
from broker.bridges.providers.local import LocalSubscription
from broker.bridges.ways import branches
from broker.bridges.ways.here import source_entries, undo
from broker.bridges.ways.marker import Marker
from broker.errors import LockLost
from broker.errors.bridges import CommitInDoubt, ProviderLost, SendRefused
from broker.models import Link
from broker.transactions.scope import UnitOfWork

RETRY = Link.OnSendFailure.RETRY


class Outbound:
    """The common base of ways to another provider."""

    def __init__(
        self, carrier: Carrier, source: LocalSubscription, target: ProviderSession
    ) -> None:
        self.carrier = carrier
        self.source = source
        self.target = target

    def carry(self, batch: Batch) -> None:
        """Send, and end the deliveries here.

        Raises:
            SendRefused: the target refuses one of them; see ``ways``.
            ProviderLost: the connection broke.
            DeadMessageRefused, LinkTakenOver: nothing was done here.
        """
        self.source.release(batch.left)
        work = self.source.take_work()
        for one, message_id in zip(batch.sends, new_ids(len(batch.sends)), strict=True):
            rename(one.message, message_id)
        try:
            self.carrier.bury_elsewhere(batch.dead)
            self.send_and_end(batch, work)
        except SendRefused as refusal:
            undo(work, batch, refusal)
            raise
        except BaseException:
            if not work.ended:
                local.give_back(work)
            raise
        work.ended = True

    def send_and_end(self, batch: Batch, work: UnitOfWork) -> None:
        raise NotImplementedError

    def send(self, batch: Batch) -> None:
        """Step 6, for all messages; the first refusal is raised.

        Raises:
            SendRefused, ProviderLost: see ``interface.Session.send``.
        """
        for run in batch.runs():
            for refusal in self.send_run(run):
                if refusal is not None:
                    raise refusal

    def send_run(self, run: Sequence[Sending]) -> list[SendRefused | None]:
        """Send messages of one destination, and note their message ids at the
        target."""
        messages = [one.message for one in run]
        refusals = self.target.send(messages, run[0].destination)
        for one, given in zip(run, self.target.sent_ids, strict=False):
            one.message.message_id = given
        return refusals

    def end(self, batch: Batch, work: UnitOfWork) -> None:
        """Step 7 of ``transfer`` at this broker, in the open transaction."""
        carrier = self.carrier
        carrier.fence(batch.final_counts(), batch.now)
        dead = bury(carrier.link, batch.dead)
        carrier.write(
            *source_entries(batch, buried=dead),
            *dead_entries(batch.dead, dead, counted=False),
        )
        work.carry_out()


class Acknowledged(Outbound):
    """Transfer without transactions: at least once."""

    def send_and_end(self, batch: Batch, work: UnitOfWork) -> None:
        self.send_each(batch)
        try:
            with transaction.atomic():
                self.end(batch, work)
        except (LockLost, DatabaseError) as error:
            work.ended = True  # the system has backed out the work, or will do so
            sent = [one.received for one in batch.sends]
            self.carrier.notice(sent, Outcome.ACK_FAILURE, str(error))
            raise

    def send_each(self, batch: Batch) -> None:
        """Step 6 of ``transfer``: send each message alone. A refused message becomes a
        dead message, or the link tries again and each try sends a notice."""
        again = self.carrier.link.on_send_failure == RETRY
        for run in batch.runs():
            for one, refusal in zip(run, self.send_run(run), strict=True):
                if refusal is None:
                    continue
                if again:
                    if refusal.hold is None:
                        why = refusal.why
                        self.carrier.notice([one.received], Outcome.SEND_FAILURE, why)
                    raise refusal
                dead = self.carrier.refused(one, refusal.why, batch.now)
                batch.refuse(one, dead)
                self.carrier.bury_elsewhere([dead])


class Prepared(Outbound):
    """Transfer by two-phase commit: the target prepares, this database decides."""

    def send_and_end(self, batch: Batch, work: UnitOfWork) -> None:
        decisions = self.carrier.decisions
        assert decisions is not None, "the target prepares transactions"
        xid = self.carrier.next_xid()
        try:
            self.target.begin()
            self.send(batch)
            self.target.prepare(xid)
        except SendRefused:
            self.target.roll_back()
            raise
        try:
            with transaction.atomic():
                self.end(batch, work)
                decisions.decide(xid, len(batch.sends))
        except BaseException:
            self.target.roll_back_prepared(xid)
            raise
        decisions.decided(xid, batch.taken)


class Marked(Outbound):
    """Transfer by a marker: this broker prepares, the target's transaction decides."""

    def __init__(
        self,
        carrier: Carrier,
        source: LocalSubscription,
        target: ProviderSession,
        marker: Marker,
    ) -> None:
        super().__init__(carrier, source, target)
        self.marker = marker

    def send_and_end(self, batch: Batch, work: UnitOfWork) -> None:
        xid = branches.promise(self.carrier, batch, work, at_source=True)
        work.ended = True
        try:
            self.target.begin()
            self.marker.advance(self.carrier.batch_number)
            self.send(batch)
            self.target.commit()
        except SendRefused as refusal:
            self.target.roll_back()
            counted = len(batch.received) == 1 and refusal.hold is None
            branches.break_promise(xid, refusal.why, counted=counted)
            self.marker.is_stale = True
            raise
        except CommitInDoubt as error:
            self.carrier.notice(batch.taken, Outcome.COMMIT_FAILURE, error.why, xid)
            raise ProviderLost(error.factory, error.why) from error
        branches.keep_promise(self.carrier, xid)
        self.marker.advanced()
