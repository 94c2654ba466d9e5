"""The discard bin: messages that have left every queue, and can still be restored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models.functions import Coalesce, Length

from broker import sql
from broker.config.address_settings import merge
from broker.errors import BrokerError, NoSuchQueue
from broker.errors.discards import DiscardedExpired, NotInDiscardBin
from broker.models import Act, AddressSetting, Discarded, Kind, Message, Queue
from broker.queueing.limits import refusal_now
from broker.queueing.transfer import Record, TakenEntry, columns, end, put_back
from broker.security import audit, authorities
from broker.sql.fencing import short_transaction

Entry = tuple[int, int]  # message id and queue id
NAMED = 100  # most messages that the audit names in one act

Cursor = tuple[datetime, int, int]  # time of the discard, message id, queue id


@dataclass(frozen=True, slots=True)
class Binned:
    """One entry of the discard bin, in a list."""

    message_id: int
    queue_id: int
    queue: str  # name of the queue at the time of the discard
    discarded_at: datetime
    keep_until: datetime
    reason: int | None  # IBM MQ's reason code
    why: str
    backout_count: int
    expires_at: datetime | None
    content_type: str
    size_bytes: int
    is_orphan: bool  # whether there is no queue of this name any more

    @property
    def cursor(self) -> Cursor:
        """The position after this entry, from which the list continues."""
        return self.discarded_at, self.message_id, self.queue_id


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of restoring one entry."""

    message_id: int
    queue_id: int
    error: BrokerError | None = None  # the reason why the entry was not restored


def discard(
    entries: Sequence[TakenEntry],
    record: Record,
    *,
    why: str,
    reason: int | None = None,
    kind: Kind = Kind.DISCARD,
) -> None:
    """End entries, and keep their messages in the discard bin.

    The address setting ``discard_retention_s`` is the time that they are kept. If it is
    0, they are deleted at once; a message that is also on another queue keeps its body.

    Args:
        entries: entries that this transaction has taken.
        record: data for the journal rows.
        why: the reason, for operators.
        reason: IBM MQ's reason code, if there is one.
        kind: kind of the journal event: discarded by the broker, or by an operator.
    """
    if not entries:
        return
    detail = record.detail | {"why": why} | ({"reason": int(reason)} if reason else {})
    end(entries, replace(record, kind=kind, detail=detail))
    retentions = retentions_s({entry.queue_id for entry in entries})
    sql.fetch_one(
        "discard",
        **columns(entries),
        delivery_counts=[entry.delivery_count for entry in entries],
        expiries=[entry.expires_at for entry in entries],
        retentions_s=[retentions[entry.queue_id] for entry in entries],
        reason=reason,
        why=why,
        now=record.now,
    )
    forget([entry.id for entry in entries if not retentions[entry.queue_id]])


def visible_queues(held: authorities.GrantedAuthorities) -> list[str] | None:
    """The queues of the bin that may be inquired; None for all."""
    if held.everywhere("inquire"):
        return None
    names = Discarded.objects.values_list("queue", flat=True).distinct()
    return [name for name in names if held.on("inquire", name)]


def retentions_s(queue_ids: set[int]) -> dict[int, int]:
    """How many seconds discarded messages of each queue are kept; for a deleted queue,
    the default."""
    every = list(AddressSetting.objects.all())
    addresses = dict(
        Queue.objects.filter(pk__in=queue_ids).values_list("pk", "address__name")
    )
    return {
        queue_id: merge(addresses.get(queue_id, ""), every).discard_retention_s or 0
        for queue_id in queue_ids
    }


def discarded(  # noqa: PLR0913  # all are keywords
    *,
    queue: str | None = None,
    reason: int | None = None,
    within: Sequence[str] | None = None,
    message_ids: Sequence[int] | None = None,
    fingerprint: str | None = None,
    before: Cursor | None = None,
    limit: int = 50,
) -> list[Binned]:
    """One page of the discard bin, newest first. Each page takes the same time, however
    far down the list it is.

    Args:
        queue: only entries that were on the queue with this name.
        reason: only entries with this reason code; 0: only entries without a code.
        within: only entries that were on queues with these names.
        message_ids: only these messages.
        fingerprint: only dead letters of this group.
        before: the cursor of the last entry of the page before.
        limit: the largest number of entries.
    """
    at, message_id, queue_id = before or (None, None, None)
    return sql.fetch(
        "discarded",
        Binned,
        queue=queue,
        reason=reason,
        within=None if within is None else list(within),
        ids=None if message_ids is None else list(message_ids),
        fingerprint=fingerprint,
        at=at,
        message_id=message_id,
        queue_id=queue_id,
        limit=limit,
    )


@transaction.atomic
def restore(
    message_id: int,
    queue_id: int,
    *,
    user: authorities.Principal = None,
    actor: str = "",
    why: str = "",
    now: datetime | None = None,
) -> None:
    """Put a discarded entry back at the head of its queue's priority: the same message,
    with its backout count at 0. If the queue was deleted and there is another of its
    name, it goes there.

    Args:
        message_id: id of the message.
        queue_id: id of the queue that the message was discarded from.
        user: the user, who needs the authority to put; None is the process itself.
        actor: name that the journal records.
        why: the reason, for the journal and the audit.
        now: the current time; the database's clock when not given.

    Raises:
        NotInDiscardBin: the bin does not have the entry, or its retention is over.
        NoSuchQueue: its queue was deleted, and there is none of its name.
        NotAuthorized: the user may not put on the queue.
        QueueFull, PutInhibited, MessageTooBigForQueue: the queue refuses the message.
        DiscardedExpired: the message's time to live is over; it can only be read.
    """
    record = Record(Kind.RESTORE, None, None, actor, {"why": why} if why else {}, now)
    queue = bring_back(message_id, queue_id, user, record)
    note_restored(queue, [message_id], by=user, why=why)


def bring_back(
    message_id: int, queue_id: int, user: authorities.Principal, record: Record
) -> Queue:
    """Like ``restore``, without the audit record; returns the queue."""
    now = record.now
    queue, name = queue_for(message_id, queue_id)
    taken = sql.fetch(
        "restore", TakenEntry, message_id=message_id, queue_id=queue_id, now=now
    )
    if not taken:
        raise NotInDiscardBin(message_id)
    (held,) = taken
    if queue is None:
        raise NoSuchQueue(name or f"number {queue_id}")
    authorities.require(user, "put", queue.name)
    if held.expired:
        assert held.expires_at is not None
        raise DiscardedExpired(message_id, held.expires_at)
    error = refusal_now(queue, size_bytes(message_id))
    if error is not None:
        raise error
    put_back([replace(held, queue_id=queue.pk, backout_count=0)], [0], record)
    return queue


def queue_for(message_id: int, queue_id: int) -> tuple[Queue | None, str]:
    """The queue that a discarded entry was on, or if that was deleted, the present one
    of its name; and the name, if it was looked for."""
    queue = Queue.objects.filter(pk=queue_id).first()
    if queue is not None:
        return queue, ""
    held = Discarded.objects.filter(message_id=message_id, queue_id=queue_id)
    name = held.values_list("queue", flat=True).first() or ""
    return Queue.objects.filter(name=name).first(), name


def restore_each(
    entries: Sequence[Entry],
    *,
    user: authorities.Principal = None,
    actor: str = "",
    why: str = "",
    now: datetime | None = None,
) -> list[Restored]:
    """Restore the entries that can be restored; the others stay in the bin. An entry on
    a queue that the user may not inquire is treated as not in the bin.

    Returns:
        The result of each entry, ordered by queue and message.
    """
    outcomes = []
    record = Record(Kind.RESTORE, None, None, actor, {"why": why} if why else {}, now)
    back: dict[Queue, list[int]] = defaultdict(list)
    known = known_to(user, entries)
    with transaction.atomic():
        for message_id, queue_id in sorted(set(entries), key=lambda e: (e[1], e[0])):
            error = None
            try:
                with transaction.atomic():
                    if (message_id, queue_id) not in known:
                        raise NotInDiscardBin(message_id)
                    queue = bring_back(message_id, queue_id, user, record)
                back[queue].append(message_id)
            except BrokerError as refused:
                error = refused
            outcomes.append(Restored(message_id, queue_id, error))
        for queue, message_ids in back.items():
            note_restored(queue, message_ids, by=user, why=why)
    return outcomes


def known_to(user: authorities.Principal, entries: Collection[Entry]) -> set[Entry]:
    """Those of the entries that are in the bin and whose queues the user may
    inquire."""
    held = authorities.held_by(user)
    rows = Discarded.objects.filter(message_id__in=[one for one, _ in entries])
    return {
        (message_id, queue_id)
        for message_id, queue_id, queue in rows.values_list(
            "message_id", "queue_id", "queue"
        )
        if held.on("inquire", queue)
    } & set(entries)


def note_restored(
    queue: Queue, message_ids: Sequence[int], *, by: authorities.Principal, why: str
) -> None:
    """Record in the audit how many entries of a queue were restored, and the first of
    them."""
    detail = {"messages": len(message_ids), "ids": list(message_ids[:NAMED])}
    audit.record(Act.RESTORE, queue, by=by, reason=why, detail=detail)


@short_transaction()
def empty_due(*, limit: int, now: datetime | None = None) -> int:
    """Delete messages whose retention is over, with their bodies; return the number
    deleted."""
    ids = sql.fetch("empty_due", int, limit=limit, now=now)
    forget(ids)
    return len(ids)


def forget(message_ids: Sequence[int]) -> int:
    """Delete those of the messages that are neither on a queue nor in the bin; return
    their number."""
    if not message_ids:
        return 0
    (count,) = sql.fetch_one("forget", ids=sorted(set(message_ids)))
    return int(count)


def size_bytes(message_id: int) -> int:
    """The size of headers and body in bytes."""
    size = Length("body") + Coalesce(Length("headers"), 0)
    sizes = Message.objects.filter(pk=message_id).values_list(size)
    return sum(one for (one,) in sizes)
