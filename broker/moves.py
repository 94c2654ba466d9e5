"""Where an entry goes that was taken from its place: back, elsewhere, or nowhere.

Whoever takes entries (``sql/take_*.sql``) gives each to one function here, in the same
transaction. That is the one rule that keeps every message in exactly one place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from broker import arrivals, sql
from broker.fingerprints import fingerprint
from broker.models import DeadLetter, Kind, Place, Queue


@dataclass(frozen=True, slots=True)
class Held:
    """An entry that was taken from its place and not yet put anywhere."""

    queue_id: int
    id: int  # of the message
    priority: int
    backout_count: int
    delivery_count: int
    expires_at: datetime | None
    expired: bool = False  # by the database's clock, when it was taken


@dataclass(frozen=True, slots=True)
class Copy:
    """What one entry became on another address."""

    id: int  # of the entry's message
    copy_id: int
    queue_ids: list[int]  # that took the copy


@dataclass(frozen=True, slots=True)
class Dress:
    """What a copy has before its body, in place of the original's."""

    descriptor: Mapping[str, Any]
    headers: bytes | None


@dataclass(frozen=True, slots=True)
class Record:
    """What the journal says of a move."""

    kind: Kind
    came_from: Place | None  # none: it had ended
    uow: int | None = None
    actor: str = ""
    detail: dict[str, Any] = field(default_factory=dict)
    now: datetime | None = None  # when; the database's clock when not given

    def parameters(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "came_from": self.came_from,
            "uow": self.uow,
            "actor": self.actor,
            "detail": json.dumps(self.detail),
            "now": self.now,
        }


def put_back(entries: Sequence[Held], delays_ms: Sequence[int], record: Record) -> None:
    """Return entries to their queues, each after its delay; zero is at once."""
    if not entries:
        return
    ready = sql.fetch(
        "put_back",
        int,
        **columns(entries),
        delivery_counts=[entry.delivery_count for entry in entries],
        expiries=[entry.expires_at for entry in entries],
        delays_ms=list(delays_ms),
        **record.parameters(),
    )
    arrivals.announce_on_commit(set(ready))


def copy(
    entries: Sequence[Held],
    address: str,
    record: Record,
    *,
    cause: DeadLetter.Cause | None = None,
    only_queue: str | None = None,
    dress: Sequence[Dress] | None = None,
) -> list[Copy]:
    """End entries by copying their messages to an address that has a queue.

    Args:
        entries: what was taken.
        address: where the copies go.
        record: for the journal; its ``error`` groups dead letters.
        cause: why they are dead letters; none when they are not.
        only_queue: of the address, when the others must not take the copies.
        dress: what IBM MQ's rules make of each message's headers. Such a copy keeps its
            expiry, and nothing is written into its properties.

    Returns:
        What each became, in the order of the entries.
    """
    error = str(record.detail.get("error", ""))
    group = fingerprint(error)
    copies = sql.fetch(
        "copy",
        Copy,
        **columns(entries),
        **record.parameters(),
        address=address,
        only_queue=only_queue,
        cause=cause,
        error=error,
        fingerprint=group.key,
        pattern=group.pattern,
        restore=record.kind == Kind.RESUBMIT,
        as_ibm=dress is not None,
        descriptors=dress and [json.dumps(one.descriptor) for one in dress],
        headers=dress and [one.headers or b"" for one in dress],
        reason=record.detail.get("reason"),
    )
    assert all(one.queue_ids for one in copies), f"{address} takes nothing"
    arrivals.announce_on_commit({q for one in copies for q in one.queue_ids})
    return copies


def end(entries: Sequence[Held], record: Record) -> None:
    """Write that entries ended here. Their messages stay readable for a while."""
    if not entries:
        return
    parameters = record.parameters()
    queues = {
        "queue_ids": [e.queue_id for e in entries],
        "ids": [e.id for e in entries],
    }
    sql.fetch_one("end", **queues, **parameters)


def takes(address: str, only_queue: str | None = None) -> bool:
    """Whether an address has a queue, so that a copy to it would arrive."""
    queues = Queue.objects.filter(address__name=address)
    if only_queue is not None:
        queues = queues.filter(name=only_queue)
    return queues.exists()


def columns(entries: Sequence[Held]) -> dict[str, list[int]]:
    return {
        "queue_ids": [entry.queue_id for entry in entries],
        "ids": [entry.id for entry in entries],
        "priorities": [entry.priority for entry in entries],
        "backout_counts": [entry.backout_count for entry in entries],
    }
