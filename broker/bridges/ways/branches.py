"""Distributed transactions: prepared at one end, decided by the other.

If the other provider can prepare, it does so first. Then this database commits the
link's work together with the decision, and the provider is told to commit
(``broker.bridges.decisions``). If it cannot prepare, this broker prepares, and the
provider's own transaction decides: its marker tells the result.

A crash in between leaves a row (``Branch``). The next run of the link settles it before
anything else (``recover``).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db import transaction

from broker.bridges import dead_messages, notices
from broker.bridges.batch import Batch, Dead
from broker.bridges.books import Counts, Outcome, Role, TransferEntry
from broker.bridges.carrier import Carrier, dead_entries
from broker.bridges.providers.interface import Destination, ProviderSession, Received
from broker.bridges.ways.here import source_entries
from broker.errors import BrokerError
from broker.errors.bridges import Hold, SendRefused
from broker.errors.units_of_work import BackedOut, NoSuchXid
from broker.models import Branch
from broker.queueing.store import NewMessage, Receipt
from broker.settlement.outcomes import BackOut
from broker.sql import database_now
from broker.transactions import prepared
from broker.transactions.scope import UnitOfWork

logger = logging.getLogger(__name__)


def promise(
    carrier: Carrier, batch: Batch, work: UnitOfWork, *, at_source: bool
) -> str:
    """Prepare this broker's part of a batch, with the data for its records.

    Args:
        work: the unit of work of messages from here; empty if the source is elsewhere.
        at_source: whether the source is this broker.

    Returns:
        The name of the prepared transaction.

    Raises:
        SendRefused: this broker could not commit it; nothing was done.
        LinkTakenOver: another process runs the link; nothing was done.
    """
    xid = carrier.next_xid()
    detail: dict[str, Any] = {"number": carrier.batch_number}
    if at_source:
        detail["source"] = [asdict(one) for one in source_entries(batch)]
    else:
        detail["target"] = [
            [one.received.message_id, one.outcome, batch.latency_ms(one.received)]
            for one in batch.sends
        ]
    detail["dead"] = [as_record(one) for one in batch.dead]
    detail["counts"] = asdict(batch.final_counts())
    puts = [] if at_source else [one.message for one in batch.sends]
    try:
        with transaction.atomic():
            carrier.fence(Counts(), batch.now)
            carrier.keep_number()
            work.coordinated = True
            work.send(*puts, *(one.message for one in batch.dead))
            prepared.prepare(work, xid)
            Branch.objects.create(
                xid=xid,
                link=carrier.link,
                kind=Branch.Kind.PREPARED,
                messages=len(batch.taken),
                detail=detail,
                began_at=batch.now,
            )
    except BrokerError as error:
        if isinstance(error, BackedOut):
            hold = Hold.of(error.__cause__)
            raise SendRefused("this broker", str(error), hold) from error
        raise
    return xid


def as_record(dead: Dead) -> dict[str, Any]:
    """The data of a dead message as JSON, for the records."""
    one = dead.received
    return {
        "reason": dead.reason,
        "error": dead.error,
        "is_notice": dead.is_notice,
        "message_id": one.message_id,
        "destination": list(one.destination),
        "local_id": one.local_id,
        "delivery_count": one.delivery_count,
    }


def dead_of(said: dict[str, Any], at: datetime) -> Dead:
    nothing = NewMessage("")
    received = Received(
        nothing,
        None,
        Destination(*said["destination"]),
        said["message_id"],
        delivery_count=said["delivery_count"],
        local_id=said["local_id"],
    )
    return Dead(received, said["reason"], said["error"], nothing, at, said["is_notice"])


@transaction.atomic
def keep_promise(carrier: Carrier, xid: str) -> None:
    """Commit the transaction prepared here, as the other provider has committed.

    Raises:
        LinkTakenOver: another process runs the link, and will commit it.
    """
    branch = Branch.objects.select_for_update().filter(xid=xid).first()
    if branch is None:
        return
    now = database_now()
    detail = branch.detail
    carrier.fence(Counts(**detail["counts"]), now)
    if "source" in detail:
        entries = [
            TransferEntry(
                **one | {"outcome": Outcome(one["outcome"]), "role": Role.SOURCE}
            )
            for one in detail["source"]
        ]
        carrier.write(*entries)
    receipts = prepared.commit_prepared(xid)
    write_puts(carrier, detail, receipts, now, is_counted="source" not in detail)
    notices.withdraw(branch)
    branch.delete()


def write_puts(
    carrier: Carrier,
    detail: dict[str, Any],
    receipts: Sequence[Receipt],
    now: datetime,
    *,
    is_counted: bool,
) -> None:
    """Write the records of messages that a prepared unit of work has put."""
    put = detail.get("target", [])
    entries = [
        TransferEntry(
            receipt.queue_ids[0],
            receipt.message_id,
            Outcome(outcome),
            message_id,
            None,
            latency_ms,
            role=Role.TARGET,
            counted=is_counted,
        )
        for (message_id, outcome, latency_ms), receipt in zip(
            put, receipts, strict=False
        )
        if receipt.queue_ids
    ]
    dead = [dead_of(one, now) for one in detail["dead"]]
    buried = receipts[len(put) :]
    dead_messages.enter(carrier.link, dead, buried)
    carrier.write(*entries, *dead_entries(dead, buried, counted=is_counted))


@transaction.atomic
def break_promise(xid: str, why: str, *, counted: bool) -> None:
    """Roll back the transaction prepared here, as the other provider has not committed.

    Args:
        counted: whether this counts as a failed attempt of the message.
    """
    try:
        if counted:
            prepared.back_out_prepared(xid, error=BackOut(why, at_once=True))
        else:
            prepared.release_prepared(xid)
    except NoSuchXid:
        logger.warning("%s was ended by an operator.", xid)
    end(xid)


@transaction.atomic
def end(xid: str) -> None:
    """Delete a branch that is settled, and its notices with it."""
    for branch in Branch.objects.select_for_update().filter(xid=xid):
        notices.withdraw(branch)
        branch.delete()


def recover(carrier: Carrier, session: ProviderSession, marker: int | None) -> int:
    """Settle transactions that an earlier run of the link left in doubt.

    Args:
        session: the session with the other provider.
        marker: the number of the last batch committed there; None if it can prepare.

    Returns:
        The number of settled transactions.

    Raises:
        ProviderLost: the connection broke; the rest is settled next time.
    """
    settled = 0
    for branch in Branch.objects.filter(link=carrier.link).order_by("began_at"):
        settled += 1
        if branch.kind == Branch.Kind.DECIDED:
            session.commit_prepared(branch.xid)
            end(branch.xid)
        elif marker is not None and branch.detail["number"] <= marker:
            keep_promise(carrier, branch.xid)
        else:
            break_promise(branch.xid, "", counted=False)
    if marker is None:
        for xid in session.in_doubt(carrier.xid_prefix):
            settled += 1
            session.roll_back_prepared(xid)  # presumed abort: no decision was stored
    if settled:
        logger.info("%s: settled %d transactions of before", carrier.name, settled)
    return settled
