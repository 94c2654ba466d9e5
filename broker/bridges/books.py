"""Records of a link's transfers: counters and journal events.

They are written in the transaction that does the transfer. That transaction succeeds
only while this process still runs the link (``fence``).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any

from django.db.models.functions import Now

from broker import sql
from broker.errors.bridges import LinkTakenOver
from broker.models import LinkStatus, Place


class Outcome(StrEnum):
    """The outcome of a message; for a dead message, the reason with the names of Open
    MQ."""

    TRANSFERRED = "TRANSFERRED"
    BRANCHED = "BRANCHED"
    NOT_TRANSFERRED = "NOT_TRANSFERRED"
    DUPLICATE = "DUPLICATE"
    LOOPED = "LOOPED"
    MESSAGE_EXPIRED = "MESSAGE_EXPIRED"
    TRANSFORMER_FAILURE = "TRANSFORMER_FAILURE"
    SEND_FAILURE = "SEND_FAILURE"
    ACK_FAILURE = "ACK_FAILURE"
    COMMIT_FAILURE = "COMMIT_FAILURE"


class Role(StrEnum):
    """The role of a message of this broker in a transfer, and its place."""

    # A message from the source; it stays claimed until it is accepted.
    SOURCE = "source"
    TARGET = "target"
    DEAD = "dead"

    @property
    def place(self) -> Place:
        return Place.CLAIMED if self is Role.SOURCE else Place.READY


@dataclass(slots=True)
class Counts:
    """Additions of a batch to its link's counters; the names are those of columns."""

    received: int = 0
    duplicates: int = 0
    looped: int = 0
    expired: int = 0
    transformed: int = 0
    not_transferred: int = 0
    branched: int = 0
    sent: int = 0
    dead: int = 0


@dataclass(slots=True)
class TransferEntry:
    """One message of this broker, for the journal."""

    queue_id: int
    id: int
    outcome: Outcome
    other: str = ""  # message id at the other end
    # Message number at the other end, if the other end is this broker, too.
    copy: int | None = None
    latency_ms: int | None = None  # time from the put at the source to the transfer
    transformed: bool = False
    role: Role = Role.SOURCE
    counted: bool = True  # counted in reports; one entry of each message is counted


COUNTED = tuple(one.name for one in fields(Counts))
ID_OF = attrgetter("id")


def fence(
    link_id: int, name: str, epoch: int, counts: Counts, now: datetime
) -> datetime:
    """Add to the counters of a link, if this process still runs it.

    The row stays locked until the transaction ends, so no other process can take the
    link over before.

    Returns:
        The time of the database's clock.

    Raises:
        LinkTakenOver: another process runs it; the transaction must be undone.
    """
    added = {one: getattr(counts, one) for one in COUNTED}
    ours = sql.run("fence", {"link_id": link_id, "epoch": epoch, "now": now} | added)
    if not ours:
        raise LinkTakenOver(name, epoch)
    ((told,),) = ours
    assert isinstance(told, datetime)
    return told


def note(
    entries: Sequence[TransferEntry],
    *,
    link_id: int,
    link: str,
    now: datetime | None = None,
) -> None:
    """Write a link's transfers into the journal; one statement for all events.

    Args:
        entries: messages of this broker.
        now: the time; by default that of the database's clock.
    """
    if not entries:
        return
    events: dict[tuple[int, Role, bool, bool], list[TransferEntry]] = defaultdict(list)
    for one in entries:
        events[one.queue_id, one.role, one.counted, one.copy is None].append(one)
    for told in events.values():
        told.sort(key=ID_OF)
    link_of = {"link": link, "link_id": link_id}
    sql.run(
        "note_transfers",
        {
            "queue_ids": [queue_id for queue_id, *_ in events],
            "places": [int(role.place) for _, role, *_ in events],
            "id_lists": [id_list(told) for told in events.values()],
            "actor": f"link {link}",
            "details": [
                json.dumps(link_of | detail_of(told)) for told in events.values()
            ],
            "now": now,
        },
    )


def id_list(told: Sequence[TransferEntry]) -> str:
    """Ids as the text of an array, as PostgreSQL's nested arrays need equal lengths."""
    return f"{{{','.join([str(one.id) for one in told])}}}"


def detail_of(told: Sequence[TransferEntry]) -> dict[str, Any]:
    """The detail of one event; its lists have the order of the message ids."""
    first = told[0]
    detail: dict[str, Any] = {
        "role": first.role,
        "counted": first.counted,
        "outcomes": [one.outcome for one in told],
        "others": [one.other for one in told],
        "latencies_ms": [one.latency_ms for one in told],
        "transformed": [one.transformed for one in told],
    }
    if first.copy is not None:
        detail["copies"] = [one.copy for one in told]
    return detail


def trouble(link_id: int, epoch: int, error: str, *, failures: int) -> None:
    """Record the last error, and the number of failures in a row. No effect if another
    process has taken over the link."""
    LinkStatus.objects.filter(link_id=link_id, epoch=epoch).update(
        error=error[:1000], error_at=Now(), failures=failures
    )


def recovered(link_id: int, epoch: int, *, failures: int = 0) -> None:
    """Set the number of failures in a row after a success."""
    LinkStatus.objects.filter(link_id=link_id, epoch=epoch).update(failures=failures)


def state(link_id: int, epoch: int, to: str, **more: Any) -> bool:
    """Write the state of a link; False if another process runs it."""
    ours = LinkStatus.objects.filter(link_id=link_id, epoch=epoch)
    return bool(ours.update(state=to, **more))
