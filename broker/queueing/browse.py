"""Browse messages. No function here locks, moves or counts entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from broker import sql
from broker.models import Message, Place
from broker.queueing.get import LOWEST, Delivery


@dataclass(frozen=True, slots=True)
class Browsed:
    """One entry in a list."""

    message_id: int
    place: Place
    priority: int
    pos: int
    backout_count: int
    until: datetime | None  # end of the delay, or deadline of the unit of work
    expires_at: datetime | None
    uow: int | None
    put_at: datetime
    content_type: str
    subject: str | None
    producer: str
    size_bytes: int
    head: bytes  # at most 160 bytes of the body
    # This field and the next tell the character set of ``head``.
    descriptor: dict[str, Any] | None
    headers: bytes | None  # at most 4096 bytes of IBM MQ's headers

    @property
    def cursor(self) -> str:
        """The position after this entry; give it to ``browse`` to get the next page."""
        match self.place:
            case Place.READY:
                return f"{self.priority}.{self.pos}"
            case Place.DELAYED:
                assert self.until is not None
                return f"{self.until.timestamp():.6f}_{self.message_id}"
        return str(self.message_id)


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """One entry of a message: its queue and its state."""

    queue_id: int
    place: Place
    priority: int
    backout_count: int
    until: datetime | None
    expires_at: datetime | None
    uow: int | None
    holder: str | None  # name of the process that has claimed the entry, for people


def browse(
    queue_id: int, place: Place, *, after: str = "", limit: int = 50
) -> list[Browsed]:
    """One page of a queue's entries, after a cursor.

    Ready entries come in the order of gets, delayed entries by due time, claimed
    entries by message id. The cost of a page does not depend on its depth.

    Raises:
        ValueError: ``after`` is not a cursor of this place.
    """
    match place:
        case Place.READY:
            priority, pos = map(bigint, after.split(".")) if after else (9, LOWEST - 1)
            if not 0 <= priority <= 9:
                raise ValueError(f"no priority is {priority}")
            return sql.fetch(
                "browse_ready",
                browsed,
                queue_id=queue_id,
                priorities=list(range(priority, -1, -1)),
                lows=[pos + 1] + [LOWEST] * priority,
                limit=limit,
            )
        case Place.DELAYED:
            due_at, last = after.split("_") if after else ("0", "0")
            since = moment(due_at)
            return sql.fetch(
                "browse_delayed",
                browsed,
                queue_id=queue_id,
                due_at=since,
                id=bigint(last),
                limit=limit,
            )
    return sql.fetch(
        "browse_claimed",
        browsed,
        queue_id=queue_id,
        id=bigint(after or "0"),
        limit=limit,
    )


def whole(queue_id: int, entries: Sequence[Browsed]) -> list[Delivery]:
    """The messages of a page as deliveries that belong to no unit of work."""
    rows = Message.objects.in_bulk([entry.message_id for entry in entries])
    return [
        as_delivery(
            row,
            queue_id=queue_id,
            backout_count=entry.backout_count,
            priority=entry.priority,
            expires_at=entry.expires_at,
            pos=entry.pos,
        )
        for entry in entries
        if (row := rows.get(entry.message_id)) is not None
    ]


def as_delivery(row: Message, **entry: Any) -> Delivery:
    """A message as a delivery.

    Args:
        row: the stored message.
        entry: fields of its entry: ``queue_id``, ``backout_count``, ``priority``,
            ``expires_at`` and ``pos``.
    """
    return Delivery(
        uow=0,
        message_id=row.pk,
        delivery_count=0,
        address=row.address,
        body=bytes(row.body),
        content_type=row.content_type,
        properties=row.properties,
        client_message_id=row.message_id,
        correlation_id=row.correlation_id,
        reply_to=row.reply_to,
        subject=row.subject,
        group_id=row.group_id,
        producer=row.producer,
        put_at=row.put_at,
        durable=row.durable,
        descriptor=row.descriptor,
        headers=None if row.headers is None else bytes(row.headers),
        envelope=None if row.envelope is None else bytes(row.envelope),
        **entry,
    )


def bigint(text: str) -> int:
    """A number limited to the range of PostgreSQL's bigint, so that adding one is
    possible."""
    number = int(text)
    if not LOWEST <= number < 2**63 - 1:
        raise ValueError(f"{text} is too large")
    return number


def moment(timestamp: str) -> datetime:
    try:
        return datetime.fromtimestamp(float(timestamp), UTC)
    except (OverflowError, OSError) as error:
        raise ValueError(f"no moment is {timestamp}") from error


def where_is(message_id: int) -> list[Whereabouts]:
    """The entries of a message now: none after its end, several if it is multicast."""
    return sql.fetch("where_is", whereabouts, message_id=message_id)


def browsed(message_id: int, place: int, *rest: object) -> Browsed:
    return Browsed(message_id, Place(place), *rest)  # type: ignore[arg-type]


def whereabouts(queue_id: int, place: int, *rest: object) -> Whereabouts:
    return Whereabouts(queue_id, Place(place), *rest)  # type: ignore[arg-type]
