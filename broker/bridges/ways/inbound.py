"""From another provider to this broker."""

from __future__ import annotations

from django.db import Error as DatabaseError
from django.db import transaction

from broker.bridges import duplicates
from broker.bridges.batch import Batch
from broker.bridges.books import Outcome
from broker.bridges.carrier import Carrier, dead_entries
from broker.bridges.dead_messages import bury
from broker.bridges.providers import local
from broker.bridges.providers.interface import ProviderSession, ProviderSubscription
from broker.bridges.ways import branches
from broker.bridges.ways.here import address, after_refusal, target_entries
from broker.bridges.ways.marker import Marker
from broker.errors.bridges import (
    BridgeError,
    CommitInDoubt,
    ProviderLost,
    SendRefused,
)
from broker.transactions.scope import UnitOfWork


class Inbound:
    """The common base of ways from another provider."""

    def __init__(
        self, carrier: Carrier, source: ProviderSubscription, session: ProviderSession
    ) -> None:
        self.carrier = carrier
        self.source = source
        self.session = session

    def carry(self, batch: Batch) -> None:
        """Put the messages here, and acknowledge them at the source.

        Raises:
            SendRefused: this broker refuses one of them; see ``ways``.
            ProviderLost: the connection broke.
            DeadMessageRefused, LinkTakenOver: nothing was done here.
        """
        if batch.left:
            self.source.release(batch.left)
        address(self.carrier, batch)
        try:
            self.carrier.bury_elsewhere(batch.dead)
            self.put_and_acknowledge(batch)
        except SendRefused as refusal:
            counts = len(batch.taken) == 1 and refusal.hold is None
            self.source.release(batch.taken, failed=counts)
            raise
        except (BridgeError, DatabaseError) as error:
            if not isinstance(error, ProviderLost):
                self.source.release(batch.taken)
            raise

    def put_and_acknowledge(self, batch: Batch) -> None:
        raise NotImplementedError

    def put(self, batch: Batch) -> None:
        """Step 6 of ``transfer``: put the messages, in the open transaction."""
        carrier = self.carrier
        carrier.fence(batch.final_counts(), batch.now)
        receipts = local.send([one.message for one in batch.sends])
        dead = bury(carrier.link, batch.dead)
        carrier.write(
            *target_entries(batch, receipts, counted=True),
            *dead_entries(batch.dead, dead, counted=True),
        )


class Acknowledged(Inbound):
    """Transfer without transactions: at least once; with duplicate detection,
    effectively once."""

    def put_and_acknowledge(self, batch: Batch) -> None:
        self.put_each(batch)
        try:
            self.source.acknowledge(batch.taken)
        except ProviderLost as error:
            if not self.carrier.link.duplicate_detection:
                put = [one.received for one in batch.sends]
                self.carrier.notice(put, Outcome.ACK_FAILURE, error.why)
            raise

    def put_each(self, batch: Batch) -> None:
        """Step 6 of ``transfer``: put each message alone. A refused message becomes a
        dead message, or the link tries again and each try sends a notice."""
        try:
            self.put_new(batch)
        except SendRefused as refusal:
            after_refusal(self.carrier, batch, refusal)
            self.put_new(batch)

    @transaction.atomic
    def put_new(self, batch: Batch) -> None:
        if self.carrier.link.duplicate_detection:
            duplicates.leave_out(self.carrier.link, batch)
        self.put(batch)


class Prepared(Inbound):
    """Transfer by two-phase commit: the source prepares, this database decides."""

    def put_and_acknowledge(self, batch: Batch) -> None:
        decisions = self.carrier.decisions
        assert decisions is not None, "the source prepares transactions"
        xid = self.carrier.next_xid()
        try:
            self.session.begin()
            self.source.acknowledge(batch.taken)
            self.session.prepare(xid)
        except SendRefused as error:
            self.session.roll_back()
            raise ProviderLost(error.factory, error.why) from error
        try:
            with transaction.atomic():
                self.put(batch)
                decisions.decide(xid, len(batch.taken))
        except BaseException:
            self.session.roll_back_prepared(xid)
            raise
        decisions.decided(xid, batch.taken)


class Marked(Inbound):
    """Transfer by a marker: this broker prepares, the source's transaction decides."""

    def __init__(
        self,
        carrier: Carrier,
        source: ProviderSubscription,
        session: ProviderSession,
        marker: Marker,
    ) -> None:
        super().__init__(carrier, source, session)
        self.marker = marker

    def put_and_acknowledge(self, batch: Batch) -> None:
        work = UnitOfWork(actor=self.carrier.actor, coordinated=True)
        xid = branches.promise(self.carrier, batch, work, at_source=False)
        try:
            self.session.begin()
            # The marker comes first: another process that waits for the marker can get
            # it only after this whole transaction is rolled back, and then gets the
            # whole batch.
            self.marker.advance(self.carrier.batch_number)
            self.source.acknowledge(batch.taken)
            self.session.commit()
        except SendRefused as refusal:
            self.session.roll_back()
            branches.break_promise(xid, refusal.why, counted=False)
            self.marker.is_stale = True
            raise ProviderLost(refusal.factory, refusal.why) from refusal
        except CommitInDoubt as error:
            self.carrier.notice(batch.taken, Outcome.COMMIT_FAILURE, error.why, xid)
            raise ProviderLost(error.factory, error.why) from error
        branches.keep_promise(self.carrier, xid)
        self.marker.advanced()
