"""The discard bin as far as a user may see it, and restoring from it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from django.db import transaction

from broker.errors.discards import NotInDiscardBin
from broker.models import Discarded
from broker.monitoring.dead_letters import NEWEST
from broker.security import authorities
from broker.settlement import discards as bin_of
from broker.settlement.discards import Binned, Cursor, Entry, Restored
from console.messages.dead_letter_query import LARGEST

AT_ONCE = 500  # entries restored at once
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
RESTORE = "broker.resubmit_message"  # one permission for restore and resubmit


def visible_queues(held: authorities.GrantedAuthorities) -> list[str] | None:
    """The queues of the bin that the user may inquire; None for all."""
    if held.everywhere("inquire"):
        return None
    names = Discarded.objects.values_list("queue", flat=True).distinct()
    return [name for name in names if held.on("inquire", name)]


def obstacle_of(binned: Binned, now: datetime) -> str:
    """Why the message cannot be restored; empty if it can."""
    if binned.is_orphan:
        return "Its queue is gone."
    if binned.expires_at and binned.expires_at <= now:
        return "Its time to live is over."
    if binned.keep_until <= now:
        return "Its time in the bin is over."
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


def chosen(
    user: authorities.Principal,
    *,
    message_ids: Collection[int] | None = None,
    fingerprint: str | None = None,
    queue: str | None = None,
) -> list[Binned]:
    """The entries of these messages, or of a group of dead letters, that the user may
    see; at most as many as are restored at once, the newest first."""
    known = None
    if message_ids is not None:
        known = [one for one in message_ids if 0 < one <= NEWEST]
    return bin_of.discarded(
        queue=queue,
        within=visible_queues(authorities.held_by(user)),
        message_ids=known,
        fingerprint=fingerprint,
        limit=AT_ONCE,
    )


@transaction.atomic
def restore(
    entries: Sequence[Entry], *, user: authorities.Principal, actor: str, why: str
) -> list[Restored]:
    """Restore the entries that can be restored; the others stay in the bin."""
    return bin_of.restore_each(entries, user=user, actor=actor, why=why)


def restore_chosen(  # each is named where it is used
    user: authorities.Principal,
    *,
    message_ids: Collection[int] | None = None,
    fingerprint: str | None = None,
    queue: str | None = None,
    actor: str,
    why: str,
) -> list[Restored]:
    """Restore what ``chosen`` finds, and tell of the messages that are not there."""
    found = chosen(user, message_ids=message_ids, fingerprint=fingerprint, queue=queue)
    entries = [(one.message_id, one.queue_id) for one in found]
    missing = sorted(set(message_ids or ()) - {one for one, _ in entries})
    return [
        *restore(entries, user=user, actor=actor, why=why),
        *(Restored(one, 0, NotInDiscardBin(one)) for one in missing),
    ]
