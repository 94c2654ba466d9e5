"""Settle deliveries one by one, while their units of work stay open.

A consumer with prefetch (``transactions.prefetch``) settles each delivery by itself.
Settlements of many consumers are made together: one statement takes all entries, and
one transaction holds all outcomes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import accumulate
from typing import Any, NamedTuple

from django.db import Error as DatabaseError
from django.db import connection, transaction

from broker import sql
from broker.errors import BrokerError, LockLost
from broker.models import Kind, Place
from broker.queueing.put import put_as_given
from broker.queueing.store import NewMessage
from broker.queueing.transfer import Record, TakenEntry
from broker.settlement.backout import settle_as
from broker.settlement.confirmations import confirm
from broker.settlement.outcomes import Accept, Outcome


@dataclass(slots=True)
class Settlement:
    """The outcome of some deliveries of one unit of work, on one queue."""

    uow: int
    queue_id: int
    ids: list[int]  # ids of messages
    outcome: Outcome
    actor: str = ""  # actor in the journal; empty: the caller's actor
    wants_cod: bool = False  # whether a message may request a report on its acceptance


@dataclass(frozen=True, slots=True)
class SettlementGroup:
    """Settlements that share one journal event: all are carried out, or none."""

    uow: int
    queue_id: int
    outcome: Outcome
    actor: str
    members: dict[int, Sequence[int]]  # message ids of each settlement, by its position

    def parts(self) -> list[SettlementGroup]:
        return [replace(self, members={n: ids}) for n, ids in self.members.items()]


class SettledRow(NamedTuple):
    """An entry that was taken; or only the number of a group that has an entry that is
    no longer held."""

    number: int
    held: TakenEntry | None

    @classmethod
    def of(cls, number: int, *columns: Any) -> SettledRow:
        return cls(number, None if columns[0] is None else TakenEntry(*columns))


def settle(
    settlements: Sequence[Settlement],
    *,
    puts: Sequence[NewMessage] = (),
    actor: str = "",
    now: datetime | None = None,
) -> list[Exception | None]:
    """Settle the entries that are still held; in one transaction if nothing fails.

    Args:
        settlements: the settlements; each is carried out as a whole, or not at all.
        puts: messages to send, all or none.
        actor: name in the journal, for settlements without an actor of their own.
        now: the current time; the database's clock when not given.

    Returns:
        For each settlement None, or the error that prevented it: ``LockLost`` if its
        unit of work no longer holds one of its entries, or if an earlier settlement
        names the same entry; or an error of the database.

    Raises:
        BrokerError: the puts cannot be sent; nothing is settled.
        DatabaseError: the connection was lost; it is unknown what was settled.
    """
    line = None
    try:
        connection.ensure_connection()
        line = connection.connection
        with transaction.atomic() if puts else nullcontext():
            send(puts, actor, now)
            lost = settle_held(settlements, actor, now)
    except (BrokerError, DatabaseError):
        if line is None or line.closed:
            raise
        return settle_each(settlements, puts, actor, now)
    return [
        LockLost(one.uow) if n in lost else None for n, one in enumerate(settlements)
    ]


def commit(
    settlements: Sequence[Settlement],
    puts: Sequence[NewMessage] = (),
    *,
    actor: str = "",
    now: datetime | None = None,
) -> None:
    """Settle and send everything, or nothing; one transaction.

    Raises:
        LockLost: a unit of work no longer holds one of the entries.
        BrokerError: one of the puts cannot be sent.
        DatabaseError: nothing was changed, unless the connection was lost during the
            commit.
    """
    with transaction.atomic():
        send(puts, actor, now)
        lost = settle_held(settlements, actor, now)
        if lost:
            raise LockLost(settlements[min(lost)].uow)


def send(puts: Sequence[NewMessage], actor: str, now: datetime | None) -> None:
    if puts:
        put_as_given(puts, actor=actor, now=now)


def settle_each(
    settlements: Sequence[Settlement],
    puts: Sequence[NewMessage],
    actor: str,
    now: datetime | None,
) -> list[Exception | None]:
    """Like ``settle``, but one by one: a failed settlement does not affect others."""
    send(puts, actor, now)
    outcomes: list[Exception | None] = []
    for one in settlements:
        line = connection.connection
        try:
            lost = settle_held([one], actor, now)
            outcomes.append(LockLost(one.uow) if lost else None)
        except (BrokerError, DatabaseError) as error:
            if line is None or line.closed:
                raise
            outcomes.append(error)
    return outcomes


def settle_held(
    settlements: Sequence[Settlement], actor: str, now: datetime | None
) -> set[int]:
    """Settle entries that are held; return the positions of settlements that are not
    held.

    If everything is accepted, this is one statement without a transaction around it.
    """
    groups, lost = grouped(settlements, actor)
    confirms = any(one.wants_cod for one in settlements)
    is_quick = all(isinstance(group.outcome, Accept) for group in groups)
    if is_quick and not confirms and not take(groups, now):
        return lost
    with transaction.atomic():
        lost |= settle_groups(groups, now)
        if confirms:
            confirm_accepted(settlements, lost, actor, now)
    return lost


def confirm_accepted(
    settlements: Sequence[Settlement], lost: set[int], actor: str, now: datetime | None
) -> None:
    """Send the reports that the accepted messages of these settlements ask for."""
    for place, one in enumerate(settlements):
        if one.wants_cod and place not in lost and isinstance(one.outcome, Accept):
            accepted = {(one.queue_id, message_id) for message_id in one.ids}
            confirm(accepted, uow=one.uow, actor=one.actor or actor, now=now)


def settle_groups(groups: Sequence[SettlementGroup], now: datetime | None) -> set[int]:
    """Settle the groups that are held as a whole; of the other groups, settle the parts
    that are held.

    The first statement locks all units of work, so that the next ones see the same.
    """
    lost: set[int] = set()
    while groups:
        rows = take(groups, now)
        missing = {row.number for row in rows if row.held is None}
        if not missing:
            settle_taken(groups, rows, now)
            break
        left: list[SettlementGroup] = []
        for number, group in enumerate(groups):
            if number not in missing:
                left.append(group)
            elif len(group.members) > 1:
                left += group.parts()
            else:
                lost.update(group.members)
        groups = left
    return lost


def grouped(
    settlements: Sequence[Settlement], actor: str
) -> tuple[list[SettlementGroup], set[int]]:
    """Group settlements with the same outcome, and find those that name entries of an
    earlier settlement."""
    groups: dict[tuple[int, int, Outcome, str], SettlementGroup] = {}
    named: set[tuple[int, int, int]] = set()
    twice: set[int] = set()
    for place, one in enumerate(settlements):
        entries = {(one.uow, one.queue_id, message_id) for message_id in one.ids}
        if not named.isdisjoint(entries):
            twice.add(place)
        elif entries:
            named |= entries
            key = one.uow, one.queue_id, one.outcome, one.actor or actor
            group = groups.setdefault(key, SettlementGroup(*key, {}))
            group.members[place] = one.ids
    return list(groups.values()), twice


def take(groups: Sequence[SettlementGroup], now: datetime | None) -> list[SettledRow]:
    """Take the entries of all groups from their claims, or of none. The same statement
    ends accepted entries.

    Returns:
        The entries of the other outcomes; or the groups with entries that are not held.
    """
    if not groups:
        return []
    wanted: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for number, group in enumerate(groups):
        ids = {one for ids in group.members.values() for one in ids}
        wanted[group.uow, group.queue_id] += [(one, number) for one in ids]
    flat = [pair for pairs in wanted.values() for pair in sorted(pairs)]
    lasts = list(accumulate(map(len, wanted.values())))
    return sql.fetch(
        "settle_many",
        SettledRow.of,
        uows=[uow for uow, _ in wanted],
        lowest=min(wanted)[0],
        highest=max(wanted)[0],
        queue_ids=[queue_id for _, queue_id in wanted],
        firsts=[1, *(last + 1 for last in lasts[:-1])],
        lasts=lasts,
        ids=[message_id for message_id, _ in flat],
        numbers=[number for _, number in flat],
        accepts=[isinstance(group.outcome, Accept) for group in groups],
        actors=[group.actor for group in groups],
        now=now,
    )


def settle_taken(
    groups: Sequence[SettlementGroup], rows: Sequence[SettledRow], now: datetime | None
) -> None:
    """Carry out the outcome of each entry that was taken."""
    taken: dict[int, list[TakenEntry]] = defaultdict(list)
    for number, held in rows:
        assert held is not None, "all groups are held"
        taken[number].append(held)
    for number, entries in taken.items():
        group = groups[number]
        record = Record(Kind.BACK_OUT, Place.CLAIMED, group.uow, group.actor, now=now)
        settle_as(group.outcome, entries, record)
