"""Read the journal: depths of queues, and the timeline of a message."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from broker import sql
from broker.models import Kind, Message, Place, Watermark
from broker.queueing.hops import SOURCE

# Upper ends of the buckets of the times from get to accept, in milliseconds: powers of
# 2 up to a quarter of an hour. The last bucket has no upper end.
BOUNDS_MS = tuple(1 << n for n in range(21))
MOST_SKIPPED = 100  # transactions that are open while the tally goes on
LONGEST_CHAIN = 100  # most copies of copies that a timeline follows
KINDS = {kind.value: kind for kind in Kind}  # ten times faster than Kind(value)
ATTEMPTS = {Kind.ACCEPT, Kind.BACK_OUT, Kind.DEAD_LETTER}


@dataclass(slots=True)
class Depth:
    """The counts of one queue: its present entries, and all events until now."""

    ready: int = 0
    claimed: int = 0
    delayed: int = 0
    done: dict[Kind, int] = field(default_factory=lambda: defaultdict(int))
    # Accepted deliveries, and failed deliveries that were counted.
    accept_attempts: int = 0
    reinstated: int = 0  # entries that an undo restored after they had ended

    @property
    def total(self) -> int:
        return self.ready + self.claimed + self.delayed

    @property
    def accepted(self) -> int:
        return self.done.get(Kind.ACCEPT, 0)

    def note(self, kind: Kind, came_from: int, entries: int) -> None:
        self.done[kind] += entries
        taken_away = kind == Kind.DISCARD and came_from == Place.CLAIMED
        if kind in ATTEMPTS or taken_away:
            self.accept_attempts += entries
        if kind == Kind.REINSTATE and not came_from:
            self.reinstated += entries

    def add(self, place: int, entries: int) -> None:
        match place:
            case Place.READY:
                self.ready += entries
            case Place.CLAIMED:
                self.claimed += entries
            case Place.DELAYED:
                self.delayed += entries


@dataclass(frozen=True, slots=True)
class LifelineEvent:
    """One event in the life of one message."""

    seq: int
    at: datetime
    kind: Kind
    queue_id: int
    came_from: Place | None
    went_to: Place | None
    uow: int | None
    actor: str
    detail: dict[str, Any]  # the part of the detail that concerns this message
    message_id: int


def depths(queue_ids: Iterable[int] | None = None) -> dict[int, Depth]:
    """The depth of queues, by queue id: exact, at one moment, in one query.

    A queue without any event is not in the result.

    Args:
        queue_ids: ids of the queues; None: all queues.
    """
    result: dict[int, Depth] = defaultdict(Depth)
    asked = {"queue_ids": None if queue_ids is None else list(queue_ids)}
    for queue_id, kind, came_from, went_to, entries in sql.run("depths", asked):
        depth = result[queue_id]
        if went_to:
            depth.add(went_to, entries)
        if came_from:
            depth.add(came_from, -entries)
        depth.note(KINDS[kind], came_from, entries)
    return dict(result)


def is_any_unfolded() -> bool:
    """Whether ``fold`` has something to do."""
    (found,) = sql.fetch_one("is_unfolded")
    return bool(found)


def fold() -> None:
    """Add the next window of the journal to the tally, and to the times from get to
    accept. Safe to call twice or concurrently."""
    sql.run("fold", {"bounds": list(BOUNDS_MS), "most_skipped": MOST_SKIPPED})


def has_read(reader: str, xid: int) -> None:
    """Note that a reader has read the journal below ``xid``.

    Events that a known reader has not read are never dropped.
    """
    Watermark.objects.update_or_create(reader=reader, defaults={"xid": xid})


def lifeline(message_id: int) -> list[LifelineEvent]:
    """All events of a message, its originals and its copies.

    Dead-lettering, resubmitting, and a link between two queues of this broker make
    copies with new ids. The timeline follows them back to the message that was put
    first, and forward to all copies.
    """
    events: list[LifelineEvent] = []
    waiting, seen = [first_life(message_id), message_id], set[int]()
    while waiting and len(seen) < LONGEST_CHAIN:
        one = waiting.pop(0)
        if one in seen:
            continue
        seen.add(one)
        own = events_of(one)
        events += own
        waiting += [e.detail["copy"] for e in own if "copy" in e.detail]
        waiting += [first_life(source) for source in sources(one, own)]
    return sorted(events, key=lambda event: (event.at, event.seq))


def last_error(queue_id: int, message_id: int) -> str:
    """The error of a message's last backout; empty if the message was never backed
    out."""
    errors = [
        str(event.detail.get("error", ""))
        for event in events_of(message_id)
        if event.kind == Kind.BACK_OUT and event.queue_id == queue_id
    ]
    return errors[-1] if errors else ""


def first_life(message_id: int) -> int:
    rows = Message.objects.filter(pk=message_id).values_list("first_id", flat=True)
    return rows.first() or message_id


def sources(message_id: int, events: Iterable[LifelineEvent]) -> list[int]:
    """The source message at this broker that a link transferred as this message; else
    empty. One query, only for messages that a link put."""
    if all(e.kind != Kind.TRANSFER or e.detail["role"] == SOURCE for e in events):
        return []
    rows = sql.run("carried_from", {"message_id": message_id})
    return [source for (source,) in rows]


def events_of(message_id: int) -> list[LifelineEvent]:
    return [
        LifelineEvent(
            seq,
            at,
            Kind(kind),
            queue_id,
            came_from and Place(came_from),
            went_to and Place(went_to),
            uow,
            actor,
            detail_of_one(detail or {}, place),
            message_id,
        )
        for seq, at, kind, queue_id, came_from, went_to, uow, actor, detail, place in (
            sql.run("lifeline", {"message_id": message_id})
        )
    ]


def detail_of_one(detail: dict[str, Any], place: int) -> dict[str, Any]:
    """The detail of an event, narrowed to one message."""
    one = dict(detail)
    for many, single in (
        ("copies", "copy"),
        ("backouts", "backout_count"),
        ("due_at", "due_at"),
        ("outcomes", "outcome"),
        ("others", "other"),
        ("latencies_ms", "latency_ms"),
        ("transformed", "transformed"),
    ):
        if many in one:
            one[single] = one.pop(many)[place]
    return one
