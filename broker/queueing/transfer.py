"""Requeue, copy to another address, or end entries that this transaction has claimed.

Every statement that takes entries (``sql/*/take_*.sql``) passes each of them to one
function here, in the same transaction. This keeps every message in exactly one place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import compress
from typing import Any

from django.conf import settings

from broker import sql
from broker.formats.error_fingerprint import fingerprint
from broker.models import DeadLetter, Kind, Place
from broker.queueing import notifications, processes
from broker.queueing.arrival_expiry import lifetime_on
from broker.queueing.copy_edits import NONE, Repairs, preview, repair
from broker.queueing.get import Delivery, Next, get_after
from broker.queueing.provenance import STALE
from broker.queueing.routing import Route, route_to


@dataclass(slots=True)  # not frozen: creating a frozen object takes five times as long
class TakenEntry:
    """An entry that this transaction has taken and not yet put anywhere."""

    queue_id: int
    id: int  # id of the message
    priority: int
    backout_count: int
    delivery_count: int
    expires_at: datetime | None
    # Whether it had expired when it was taken, by the database's clock.
    expired: bool = False

    def counted(self) -> TakenEntry:
        """The same entry with one more backout."""
        return TakenEntry(
            self.queue_id,
            self.id,
            self.priority,
            self.backout_count + 1,
            self.delivery_count,
            self.expires_at,
            self.expired,
        )


@dataclass(slots=True)
class Copy:
    """The copy of one entry on another address."""

    id: int  # id of the original message
    copy_id: int
    queue_ids: list[int]  # queues that accepted the copy


@dataclass(frozen=True, slots=True)
class Dress:
    """IBM MQ headers of a copy, instead of the original's headers."""

    descriptor: Mapping[str, Any]
    headers: bytes | None


@dataclass(frozen=True, slots=True)
class Record:
    """The data of a transfer for its journal event."""

    kind: Kind
    came_from: Place | None  # state before the transfer; None: the entry had ended
    uow: int | None = None
    actor: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    now: datetime | None = None  # time of the event; None: the database's clock

    def parameters(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "came_from": self.came_from,
            "uow": self.uow,
            "actor": self.actor,
            "detail": json.dumps(self.detail),
            "now": self.now,
        }


@dataclass(frozen=True, slots=True)
class EndedUnit:
    """A unit of work that ends in the same statement, so its entries were not taken
    before; and what the statement compares, so that it fails if something changed."""

    uow: int  # it must hold the entries of the statement, and no others
    policy: str  # of the entries' queues
    route: str | None = None  # the queues of the address of copies
    then: Next | None = None  # what its holder gets in the same statement
    following: list[Delivery] = field(default_factory=list)  # what it got


def run(
    name: str, parameters: dict[str, Any], ending: EndedUnit | None
) -> list[tuple[Any, ...]]:
    """Run a statement; its rows, or none if it also gets what follows."""
    uow, policy = (ending.uow, ending.policy) if ending else (None, None)
    whole = parameters | {"ended_uow": uow, "policy": policy}
    if ending is None or ending.then is None:
        return sql.run(name, whole)
    owner = processes.current()
    ending.following.extend(get_after(name, whole, ending.then, owner=owner))
    return []


Untaken = Callable[[Sequence[TakenEntry], str], object]


def put_back(
    entries: Sequence[TakenEntry],
    delays_ms: Sequence[int],
    record: Record,
    *,
    ending: EndedUnit | None = None,
) -> None:
    """Return entries to their queues, each after its delay; a delay of 0 means at once.

    Args:
        entries: entries that this transaction has taken, or that ``ending`` holds.
        delays_ms: the delay of each.
        record: data for the journal rows.
        ending: the open unit of work that holds them.

    Raises:
        DataError: the unit of work is not as ``ending`` says; nothing was changed.
    """
    if not entries:
        return
    parameters = {
        **columns(entries),
        **record.parameters(),
        "delivery_counts": [entry.delivery_count for entry in entries],
        "expiries": [entry.expires_at for entry in entries],
        "delays_ms": list(delays_ms),
        "most_records": settings.BROKER_MAX_REDELIVERY_RECORDS,
    }
    notifications.announce_on_commit(
        {q for (q,) in run("put_back", parameters, ending)}
    )


def copy(  # noqa: PLR0913  # each is named where it is used
    entries: Sequence[TakenEntry],
    address: str,
    record: Record,
    *,
    cause: DeadLetter.Cause | None = None,
    only_queue: str | None = None,
    dress: Sequence[Dress] | None = None,
    repairs: Repairs = NONE,
    ends: bool = True,
    untaken: Untaken | None = None,
) -> list[Copy]:
    """Copy messages to an address, and end the original entries.

    A copy is put on each multicast queue of the address whose selector matches it, and
    on one such anycast queue. Its expiry is by the settings of the new address.

    Args:
        entries: the original entries.
        address: the target address.
        record: data for the journal rows; its ``error`` groups dead letters.
        cause: cause of the dead letters; None: the copies are not dead letters.
        only_queue: the only queue that takes the copies, whatever its selector.
        dress: IBM MQ headers of each copy. Such a copy keeps its expiry, and no
            property is added to it.
        repairs: edits of copies, by id of the original message.
        ends: whether the original entries end. False: they were not taken, and stay.
        untaken: function that gets the entries that no queue takes, and the reason; by
            default they are released.

    Returns:
        The copies, in the order of the entries; an entry that no queue takes has none.
    """
    route = route_to(address, only_queue)
    as_ibm = dress is not None
    lifetime = None if as_ibm else lifetime_on(address)
    refusing = refusals(
        entries, route, record, cause, repairs, as_ibm=as_ibm, lifetime=lifetime
    )
    taken = [route.takes(one) for one in refusing]
    if (ends or untaken) and not all(taken):
        left = [entry for entry, goes in zip(entries, taken, strict=True) if not goes]
        (untaken or partial(give_back, record))(left, route.why_not)
    if not any(taken):
        return []
    copies = store_copies(
        list(compress(entries, taken)),
        route,
        list(compress(refusing, taken)),
        record,
        cause,
        dress=dress and list(compress(dress, taken)),
        lifetime=lifetime,
        ends=ends,
    )
    if repairs:
        repair({one.copy_id: one.id for one in copies}, repairs)
    return copies


def store_copies(  # noqa: PLR0913  # each is named where it is used
    entries: Sequence[TakenEntry],
    route: Route,
    refusing: Sequence[set[int]],
    record: Record,
    cause: DeadLetter.Cause | None,
    *,
    lifetime: timedelta | None,
    dress: Sequence[Dress] | None = None,
    ends: bool = True,
    ending: EndedUnit | None = None,
) -> list[Copy]:
    """Store the copies of entries that a route takes; see ``copy``. One statement.

    Args:
        refusing: for each entry, the queues of the route that do not take its copy.
        lifetime: the time to live of the copies; None: no limit.
        ending: the open unit of work that holds the entries; None: they were taken. Its
            copies are dead letters.

    Raises:
        DataError: the unit of work, or the route, is not as ``ending`` says; nothing
            was changed.
    """
    name, parameters = (
        "copy",
        {
            **record.parameters(),
            **story(record, cause),
            "address": route.address,
            "lifetime": lifetime,
            "route": ending and ending.route,
        },
    )
    takers = route.taking(refusing[0])
    alone = len(entries) == len(takers) == 1
    if ending is not None and dress is None and alone:
        name = "copy_one"
        parameters |= single(entries[0]) | {"taker": takers[0].id}
    else:
        parameters |= {
            **columns(entries),
            **route.parameters(refusing),
            **dressed(dress),
            "delivery_counts": [entry.delivery_count for entry in entries],
            "ends": ends,
        }
    copies = [Copy(*row) for row in run(name, parameters, ending)]
    queue_ids = {q for one in copies for q in one.queue_ids}
    # Who has taken them is unknown if what follows was got.
    queue_ids = queue_ids or {queue.id for queue in route.queues}
    notifications.announce_on_commit(queue_ids)
    return copies


def give_back(record: Record, entries: Sequence[TakenEntry], why: str) -> None:
    """Return entries that no queue accepts to their queues; no backout is counted."""
    detail = record.detail | {"why": why}
    record = replace(record, kind=Kind.RELEASE, detail=detail)
    put_back(entries, [0] * len(entries), record)


def refusals(  # noqa: PLR0913  # each is named where it is used
    entries: Sequence[TakenEntry],
    route: Route,
    record: Record,
    cause: DeadLetter.Cause | None,
    repairs: Repairs = NONE,
    *,
    as_ibm: bool,
    lifetime: timedelta | None,
) -> list[set[int]]:
    """For each entry, the queues of a route whose selector does not match its copy."""
    if not route.is_choosy:
        return [set()] * len(entries)
    return route.refusing(
        preview(entries, record, cause, repairs, lifetime, as_ibm=as_ibm)
    )


def story(record: Record, cause: DeadLetter.Cause | None) -> dict[str, Any]:
    """The parameters of ``copy.sql`` that give the reason for the copies."""
    error = str(record.detail.get("error", ""))
    group = fingerprint(error)
    return {
        "cause": cause,
        "error": error,
        "fingerprint": group.key,
        "pattern": group.pattern,
        "reason": record.detail.get("reason"),
        "restore": record.kind == Kind.RESUBMIT,
        "stale": list(STALE),
    }


def dressed(dress: Sequence[Dress] | None) -> dict[str, Any]:
    """The parameters of ``copy.sql`` for IBM MQ headers."""
    return {
        "as_ibm": dress is not None,
        "descriptors": dress and [json.dumps(one.descriptor) for one in dress],
        "headers": dress and [one.headers or b"" for one in dress],
    }


def end(entries: Sequence[TakenEntry], record: Record) -> None:
    """End entries, and record it in the journal. Their messages stay readable for some
    time."""
    if entries:
        queue_ids = [entry.queue_id for entry in entries]
        ids = [entry.id for entry in entries]
        sql.fetch_one("end", queue_ids=queue_ids, ids=ids, **record.parameters())


def single(entry: TakenEntry) -> dict[str, Any]:
    """Parameters of a statement for one entry."""
    return {
        "queue_id": entry.queue_id,
        "id": entry.id,
        "priority": entry.priority,
        "backout_count": entry.backout_count,
        "delivery_count": entry.delivery_count,
    }


def columns(entries: Sequence[TakenEntry]) -> dict[str, Any]:
    """Parameters; a statement opens only the partitions of these messages."""
    ids = [entry.id for entry in entries]
    return {
        "queue_ids": [entry.queue_id for entry in entries],
        "ids": ids,
        "first_id": min(ids),
        "last_id": max(ids),
        "priorities": [entry.priority for entry in entries],
        "backout_counts": [entry.backout_count for entry in entries],
    }
