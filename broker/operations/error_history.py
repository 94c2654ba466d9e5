"""What the messages of an operation had died of, and what came of sending such back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from broker import sql

MOST = 1000  # causes of one operation that are told apart
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Cause:
    """One error, of messages of one operation."""

    fingerprint: str
    pattern: str  # for people
    messages: int  # of the operation
    again: int  # of them, were resubmitted before

    # Of all operations until now.
    processed: int
    died: int
    since: datetime | None  # when the first of them ended; none: nothing is known

    @property
    def attempts(self) -> int:
        return self.processed + self.died


def planned(operation_id: int) -> list[Cause]:
    """What the messages that are still to go had died of: the most frequent first."""
    return sql.fetch(
        "causes_of",
        Cause,
        operation_id=operation_id,
        first_status="planned",
        last_status="planned",
        limit=SHOWN,
    )


def whole(operation_id: int) -> list[Cause]:
    """What the messages of the whole set had died of."""
    return sql.fetch(
        "causes_of",
        Cause,
        operation_id=operation_id,
        first_status="",
        last_status="~",
        limit=MOST,
    )
