"""Scheduled and delayed messages of many queues, in one list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from broker import sql
from broker.queueing.browse import bigint, moment

BETWEEN = "_"


@dataclass(frozen=True, slots=True)
class Scheduled:
    """One entry of the list."""

    queue_id: int
    message_id: int
    due_at: datetime
    priority: int
    backout_count: int
    expires_at: datetime | None
    put_at: datetime
    content_type: str
    subject: str | None
    size_bytes: int

    @property
    def is_redelivery(self) -> bool:
        """Whether a backout has delayed the entry, and not its sender."""
        return self.backout_count > 0

    @property
    def cursor(self) -> str:
        """The ``after`` of the page that follows this entry."""
        due_at = f"{self.due_at.timestamp():.6f}"
        return f"{due_at}{BETWEEN}{self.message_id}{BETWEEN}{self.queue_id}"


def scheduled(
    queue_ids: Iterable[int], *, after: str = "", limit: int = 50
) -> list[Scheduled]:
    """One page of the delayed entries of these queues; entries due earlier come first.

    Raises:
        ValueError: ``after`` is not a cursor of this list.
    """
    due_at, message_id, queue_id = after.split(BETWEEN) if after else ("0", "0", "0")
    if not 0 <= (queue := int(queue_id)) < 2**31:
        raise ValueError(f"no queue is {queue_id}")
    return sql.fetch(
        "scheduled",
        Scheduled,
        queue_ids=list(queue_ids),
        due_at=moment(due_at),
        id=bigint(message_id),
        queue_id=queue,
        limit=limit,
    )
