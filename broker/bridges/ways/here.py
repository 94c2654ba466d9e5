"""From a queue of this broker to another one: one database transaction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

from django.db import transaction

from broker.bridges.batch import Batch
from broker.bridges.books import Outcome, Role, TransferEntry
from broker.bridges.carrier import Carrier, dead_entries
from broker.bridges.dead_messages import bury
from broker.bridges.messages import new_ids, rename
from broker.bridges.providers import local
from broker.bridges.providers.local import LocalSubscription
from broker.errors.bridges import SendRefused
from broker.models import Link
from broker.queueing.store import Receipt
from broker.transactions.scope import UnitOfWork

RETRY = Link.OnSendFailure.RETRY
# Id and number of the copy (none), and whether it was transformed.
NOT_SENT = "", None, False


class Here:
    """Both ends are this broker."""

    def __init__(self, carrier: Carrier, source: LocalSubscription) -> None:
        self.carrier = carrier
        self.source = source

    def carry(self, batch: Batch) -> None:
        """Send, acknowledge and write the records, in one transaction.

        Raises:
            SendRefused: the target refuses one of them, and the link is transacted. A
                single message is backed out; several are released uncounted.
            DeadMessageRefused: nothing was done.
            LinkTakenOver: nothing was done.
        """
        self.source.release(batch.left)
        work = self.source.take_work()
        address(self.carrier, batch)
        try:
            self.carrier.bury_elsewhere(batch.dead)
            try:
                self.commit(batch, work)
            except SendRefused as refusal:
                if self.carrier.link.transacted:
                    raise
                after_refusal(self.carrier, batch, refusal)
                self.commit(batch, work)
        except SendRefused as refusal:
            undo(work, batch, refusal)
            raise
        except BaseException:
            local.give_back(work)
            raise
        work.ended = True

    @transaction.atomic
    def commit(self, batch: Batch, work: UnitOfWork) -> None:
        carrier = self.carrier
        carrier.fence(batch.final_counts(), batch.now)
        receipts = local.send([one.message for one in batch.sends])
        dead = bury(carrier.link, batch.dead)
        carrier.write(
            *source_entries(batch, receipts, dead),
            *target_entries(batch, receipts, counted=False),
            *dead_entries(batch.dead, dead, counted=False),
        )
        work.carry_out()


def address(carrier: Carrier, batch: Batch) -> None:
    """Set the new id and the address of each message.

    An unknown destination keeps its name: the put then raises the error.
    """
    addresses, producer = carrier.addresses, carrier.actor
    for one, message_id in zip(batch.sends, new_ids(len(batch.sends)), strict=True):
        name = one.destination.name
        if name not in addresses:
            addresses[name] = local.address_of_name(name)
        rename(one.message, message_id)
        one.message.address, one.message.producer = addresses[name], producer


def after_refusal(carrier: Carrier, batch: Batch, refusal: SendRefused) -> None:
    """Handle a refusal of this broker for a link without transactions.

    Raises:
        SendRefused: the link tries again; each try sends a notice, unless the target
            takes nothing for now.
    """
    if carrier.link.on_send_failure == RETRY:
        if refusal.hold is None:
            first = [batch.sends[0].received]
            carrier.notice(first, Outcome.SEND_FAILURE, refusal.why)
        raise refusal
    bury_refused(carrier, batch)


def bury_refused(carrier: Carrier, batch: Batch) -> None:
    """Turn the messages that this broker refuses into dead messages.

    To find them, each message is put alone, and that put is rolled back.
    """
    refused = []
    for one in list(batch.sends):
        try:
            with transaction.atomic():
                local.send([one.message])
                transaction.set_rollback(True)
        except SendRefused as refusal:
            refused.append(carrier.refused(one, refusal.why, batch.now))
            batch.refuse(one, refused[-1])
    carrier.bury_elsewhere(refused)


def undo(work: UnitOfWork, batch: Batch, refusal: SendRefused) -> None:
    """Back out a single message; this counts for its backout threshold, unless the
    target takes none for now. Release several messages without counting, because it is
    unknown which one was refused."""
    if len(batch.received) == 1 and refusal.hold is None:
        local.back_out(work, refusal.why)
    else:
        local.give_back(work)


def source_entries(
    batch: Batch, receipts: Sequence[Receipt] = (), buried: Sequence[Receipt] = ()
) -> list[TransferEntry]:
    """Journal entries of messages that left their queue here.

    Args:
        receipts: receipts of puts here; empty if the target is elsewhere.
        buried: receipts of puts on the built-in dead message queue.
    """
    ends: dict[int, tuple[str, int | None, bool]] = {
        id(one.received): ("", receipt.message_id, False)
        for one, receipt in zip(batch.dead, buried, strict=False)
    }
    copies = [one.message_id for one in receipts] or repeat(None)
    for one, copy in zip(batch.sends, copies, strict=False):
        ends[id(one.received)] = one.message.message_id or "", copy, one.transformed
    entries = []
    for received, outcome in zip(batch.taken, batch.outcomes, strict=True):
        other, number, is_transformed = ends.get(id(received), NOT_SENT)
        place, latency_ms = received.handle, batch.latency_ms(received)
        entries.append(
            TransferEntry(
                *(place.queue_id, place.message_id, outcome, other, number, latency_ms),
                transformed=is_transformed,
            )
        )
    return entries


def target_entries(
    batch: Batch, receipts: list[Receipt], *, counted: bool
) -> list[TransferEntry]:
    """Journal entries of messages put here, each on its first queue."""
    return [
        TransferEntry(
            receipt.queue_ids[0],
            receipt.message_id,
            one.outcome,
            one.received.message_id,
            None,
            batch.latency_ms(one.received),
            transformed=one.transformed,
            role=Role.TARGET,
            counted=counted,
        )
        for one, receipt in zip(batch.sends, receipts, strict=True)
    ]
