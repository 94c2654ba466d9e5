"""Rows of the discard bin: positions in the list, and what cannot be restored."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from django.utils.translation import gettext_noop

from broker.monitoring.dead_letters import NEWEST
from broker.settlement.discards import Binned, Cursor
from console.messages.dead_letter_query import LARGEST

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def obstacle_of(binned: Binned, now: datetime) -> str:
    """Why the message cannot be restored; empty if it can."""
    if binned.is_orphan:
        return gettext_noop("Its queue is gone.")
    if binned.expires_at and binned.expires_at <= now:
        return gettext_noop("Its time to live is over.")
    if binned.keep_until <= now:
        return gettext_noop("Its time in the bin is over.")
    return ""


def cursor_of(one: Binned) -> str:
    at, message_id, queue_id = one.cursor
    return f"{(at - EPOCH) // MICROSECOND}.{message_id}.{queue_id}"


def position(cursor: str) -> Cursor | None:
    """The position of the first entry of a page.

    Raises:
        ValueError, OverflowError: not a cursor of the bin.
    """
    if not cursor:
        return None
    at, message_id, queue_id = map(int, cursor.split("."))
    if not 0 <= queue_id <= LARGEST or not 0 <= message_id <= NEWEST:
        raise ValueError(cursor)
    return EPOCH + at * MICROSECOND, message_id, queue_id
