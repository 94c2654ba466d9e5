"""Open units of work for operators: owner, age, contents, and ending one by force.

Reading changes nothing and locks nothing.

An operator may back out a unit of work before its deadline. Its holder then gets
``LockLost`` at commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from django.db import transaction

from broker import sql
from broker.errors import LockLost
from broker.errors.units_of_work import NotForced
from broker.models import Act, Queue, UnitOfWork
from broker.queueing import processes
from broker.queueing.transfer import TakenEntry
from broker.security import audit
from broker.security.audit import Thing
from broker.settlement import settle
from broker.settlement.outcomes import BackOut

MOST_ENTRIES = 100  # most entries shown of one unit of work
LATEST = 2**63 - 1


class Nature(Enum):
    """How a unit of work is held; this decides how it can end."""

    PREPARED = "prepared"  # ends when its coordinator decides
    AHEAD = "ahead"  # held by a consumer that prefetches; ends with the consumer
    LEASED = "leased"  # held until its holder ends it, or until its deadline


@dataclass(frozen=True, slots=True)
class OpenUnit:
    """One open unit of work."""

    id: int
    xid: str | None  # the coordinator's id of the transaction; set when it is prepared
    started_at: datetime
    deadline: datetime | None
    owner_id: int
    kind: str  # kind of its process; empty if the process is unknown
    process: str
    is_alive: bool  # whether its process is alive
    held_since: datetime | None  # claim time of the entry that is held for longest
    entries: int
    queue_ids: Sequence[int]
    actor: str  # actor who got the first entry, for people
    prepared_puts: int
    noted_puts: int  # number that its process noted
    at: datetime  # time at which these data were read

    @property
    def nature(self) -> Nature:
        if self.xid is not None:
            return Nature.PREPARED
        return Nature.AHEAD if self.deadline is None else Nature.LEASED

    @property
    def puts(self) -> int | None:
        """The number of messages that it sends if it is committed; before it is
        prepared, of some two seconds ago. None: the client keeps it, not this unit."""
        if self.nature is Nature.AHEAD:
            return None
        return self.noted_puts if self.xid is None else self.prepared_puts

    @property
    def since(self) -> datetime:
        """The time since which the unit of work holds entries; else its start."""
        return self.held_since or self.started_at

    @property
    def age(self) -> timedelta:
        return self.at - self.since

    @property
    def is_late(self) -> bool:
        return self.deadline is not None and self.deadline <= self.at


@dataclass(frozen=True, slots=True)
class HeldEntry:
    """One entry that a unit of work holds, in a list."""

    held: TakenEntry
    claimed_at: datetime
    address: str
    subject: str | None
    content_type: str
    size_bytes: int

    @classmethod
    def of(cls, *columns: Any) -> HeldEntry:
        return cls(TakenEntry(*columns[:7]), *columns[7:])


def open_units(
    *,
    within: Sequence[int] | None = None,
    first: int = 0,
    limit: int = 50,
    now: datetime | None = None,
) -> list[OpenUnit]:
    """Open units of work, oldest first; without those of prefetches that hold nothing,
    and those that have put messages for less than a second and got none.

    Args:
        within: ids of queues; return only units of work that hold entries of one of
            them. None: of all queues.
        first: the lowest id to return.
        limit: the largest number of units of work to return.
        now: the current time; the database's clock when not given.
    """
    return sql.fetch(
        "open_units",
        OpenUnit,
        within=None if within is None else list(within),
        first=first,
        limit=limit,
        lock_class=processes.LOCK_CLASS,
        now=now,
    )


def open_unit(uow: int, *, now: datetime | None = None) -> OpenUnit | None:
    """One open unit of work; None if it has ended, or is not in ``open_units``."""
    if not 0 < uow < LATEST:
        return None
    found = open_units(first=uow, limit=1, now=now)
    return found[0] if found and found[0].id == uow else None


def entries_of(
    uow: int, *, limit: int = MOST_ENTRIES, now: datetime | None = None
) -> list[HeldEntry]:
    """The entries of a unit of work, the lowest message id first."""
    return sql.fetch("unit_entries", HeldEntry.of, uow=uow, limit=limit, now=now)


@transaction.atomic
def force(uow: int, *, why: str, actor: str, now: datetime | None = None) -> None:
    """Back out a unit of work by an operator's decision.

    If the holder's process is dead, the system would do the same a little later.

    Args:
        uow: id of the unit of work.
        why: the reason, shown in the timelines of its messages.
        actor: name that the journal records.
        now: the current time; the database's clock when not given.

    Raises:
        NotForced: it is prepared, so its coordinator must end it; or it belongs to the
            prefetch of a client that is still connected.
        LockLost: it has ended already.
    """
    locked = UnitOfWork.objects.select_for_update().filter(pk=uow)
    unit = open_unit(uow, now=now) if locked.exists() else None
    if unit is None:
        raise LockLost(uow)
    if unit.nature is Nature.PREPARED or (
        unit.nature is Nature.AHEAD and unit.is_alive
    ):
        raise NotForced(uow, unit.nature.value)
    if unit.is_alive:
        settle.end_if_held(uow, BackOut(why), actor=actor, now=now)
    else:
        settle.end_lost(uow, why, actor=actor, now=now)
    names = Queue.objects.filter(pk__in=unit.queue_ids).order_by("name")
    detail = {"queues": list(names.values_list("name", flat=True))}
    thing = Thing("unit of work", uow)
    audit.record(Act.BACK_OUT_UNIT, thing, reason=why, detail=detail)
