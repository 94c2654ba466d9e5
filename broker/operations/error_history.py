"""The errors of an operation's messages, and results of earlier resubmits of such
errors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from broker import sql

MOST = 1000  # most errors of one operation that are counted separately
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Cause:
    """One error of messages of one operation."""

    fingerprint: str
    pattern: str  # the error as text
    messages: int  # number of messages of the operation with this error
    again: int  # number of these messages that were resubmitted before

    # Results of all operations until now.
    processed: int
    died: int
    since: datetime | None  # time of the first result; None: there is no result

    @property
    def attempts(self) -> int:
        return self.processed + self.died


def planned(operation_id: int) -> list[Cause]:
    """The errors of the items that are still planned, the most frequent first."""
    return sql.fetch(
        "causes_of",
        Cause,
        operation_id=operation_id,
        first_status="planned",
        last_status="planned",
        limit=SHOWN,
    )


def whole(operation_id: int) -> list[Cause]:
    """The errors of all items of an operation."""
    return sql.fetch(
        "causes_of",
        Cause,
        operation_id=operation_id,
        first_status="",
        last_status="~",
        limit=MOST,
    )
