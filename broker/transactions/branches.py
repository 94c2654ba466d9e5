"""Branches: units of work with an external coordinator.

Over HTTP, a branch is a lease (``leases``) until it is prepared (``prepared``). Any
process can end it, before and after.

The consumer of a branch may have a name, which only one consumer has at a time. When a
consumer begins to get under a name, it calls ``give_back``: the messages that the
previous consumer of that name still held are released. So messages keep their order
when a program is killed and another program continues.

Source:
    The Open Group, "Distributed Transaction Processing: The XA Specification": a branch
    is the work of one resource manager for a global transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from django.db import transaction

from broker.errors import LockLost
from broker.models import Queue
from broker.models import UnitOfWork as UnitRow
from broker.queueing.put import NewMessage
from broker.security import authorities
from broker.security.authorities import Principal
from broker.settlement import settle
from broker.settlement.outcomes import Release
from broker.transactions import administration
from broker.transactions.leases import NOBODY, entries_of
from broker.transactions.prepared import PreparedUnitOfWork, prepared
from broker.transactions.prepared import prepare as promise
from broker.transactions.unit_of_work import UnitOfWork

LOOKED_AT = 100  # units of work that one query reads


def stored_as(user: Principal, xid: str) -> str:
    """The xid in the broker for a coordinator's xid; other users cannot form it."""
    return f"{authorities.id_of(user).replace(' ', '-') or 'application'}:{xid}"


def prepared_by(user: Principal) -> list[PreparedUnitOfWork]:
    """The prepared branches of a coordinator, with its own xids, oldest first."""
    mine = stored_as(user, "")
    return [
        replace(one, xid=one.xid.removeprefix(mine))
        for one in prepared()
        if one.xid.startswith(mine)
    ]


def prepare(  # noqa: PLR0913  # each is named where it is used
    xid: str,
    *,
    uow: int | None = None,
    queue_id: int = 0,
    ids: Collection[int] | None = None,
    puts: Sequence[NewMessage] = (),
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """Prepare a branch: its commit will accept its messages and send its puts.

    Args:
        xid: the id that the coordinator gives to the branch.
        uow: the unit of work of its lease; None if the branch got no message.
        queue_id: the queue of its messages.
        ids: the messages that the commit accepts. The other messages are released now,
            without counting a backout. None: the commit accepts all.
        puts: the messages that the commit sends.
        actor: name that the journal records.
        now: the current time; the database's clock when not given.

    Raises:
        LockLost: the lease has ended, or does not hold one of the messages.
        BrokerError: see ``prepared.prepare``.
    """
    work = UnitOfWork(actor=actor, coordinated=True, now=now)
    if uow is not None:
        kept = keep(uow, queue_id, ids, actor=actor, now=now)
        work.id, work.held = uow, len(kept)
        work.to_confirm = {(queue_id, one) for one, asks in kept.items() if asks}
    work.send(*puts)
    promise(work, xid)


def keep(
    uow: int,
    queue_id: int,
    ids: Collection[int] | None,
    *,
    actor: str,
    now: datetime | None,
) -> dict[int, bool]:
    """Release the messages that a lease holds, except some; return what it keeps, and
    whether each may ask for a report."""
    entries = entries_of(uow)
    there = set(entries)
    wanted = there if ids is None else set(ids)
    if not wanted <= there:
        raise LockLost(uow)
    if rest := there - wanted:
        give_back_some(uow, queue_id, sorted(rest), actor=actor, now=now)
    return {one: entries[one] for one in wanted}


@transaction.atomic
def give_back_some(
    uow: int, queue_id: int, ids: list[int], *, actor: str, now: datetime | None
) -> None:
    """Release some entries of a unit of work, unless it is prepared.

    Raises:
        LockLost: the unit of work is prepared, or does not hold one of them.
    """
    if not is_branch(uow):
        raise LockLost(uow)
    settle.settle_some(uow, queue_id, ids, Release(), actor=actor, now=now)


@transaction.atomic
def give_back(queue: Queue, *, actor: str, now: datetime | None = None) -> int:
    """Release the messages of a queue that a consumer holds in branches that are not
    prepared.

    Args:
        queue: the queue.
        actor: the consumer's name in the journal.
        now: the current time; the database's clock when not given.

    Returns:
        The number of released messages.
    """
    count, first = 0, 0
    while units := administration.open_units(
        within=[queue.pk], first=first, limit=LOOKED_AT, now=now
    ):
        first = units[-1].id + 1
        for unit in units:
            if unit.actor == actor and is_branch(unit.id):
                count += len(entries_of(unit.id))
                settle.end_if_held(unit.id, Release(), actor=actor, now=now)
    return count


def is_branch(uow: int) -> bool:
    """Whether a unit of work is a lease that is not prepared. Its row is locked, so
    that nobody prepares it before the transaction ends."""
    leases = UnitRow.objects.select_for_update().filter(pk=uow, owner_id=NOBODY)
    return leases.filter(xid=None).exists()
