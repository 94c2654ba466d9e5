"""Groups of dead letters as work items: owned, acknowledged, snoozed.

A group needs attention while it has letters on a queue and is neither acknowledged nor
snoozed. It needs attention again when the snooze ends, when it has grown past a given
number, or when it appears on another queue or with another cause.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction

from broker import sql
from broker.errors.groups import InvalidSnooze, InvalidTicket, NoSuchGroup
from broker.formats.english import english
from broker.models import (
    Act,
    DeadLetter,
    DeadLetterGroup,
    Kind,
    OperationItem,
)
from broker.monitoring.dead_letters import DeadLetterCount
from broker.security import audit
from broker.sql import database_now

LONGEST_SNOOZE = timedelta(days=365)
LONGEST_TICKET = 500
LONGEST_NOTE = 4000
HOURS = 24  # hours of a trend
SEVERAL = 3  # fewest letters in an hour that can be above the usual
SAMPLE = 200  # letters of a group whose journal events are read

Known = Iterable[tuple[str, str]]  # queue and cause of each known part


class Attention(StrEnum):
    """Whether a group needs attention."""

    NEW = "new"
    BACK = "back"  # was acknowledged or snoozed, but needs attention again
    ACKNOWLEDGED = "acknowledged"
    SNOOZED = "snoozed"

    @property
    def is_needed(self) -> bool:
        return self in (Attention.NEW, Attention.BACK)


@dataclass(frozen=True, slots=True)
class Standing:
    """The attention a group needs, and the reason if it needs it again."""

    attention: Attention
    why: str = ""


@dataclass(frozen=True, slots=True)
class Trend:
    """Dead letters by hour, the oldest first; the last value is the hour up to now."""

    hours: tuple[int, ...] = (0,) * HOURS

    @property
    def last_hour(self) -> int:
        return self.hours[-1]

    @property
    def total(self) -> int:
        return sum(self.hours)

    @property
    def is_above_usual(self) -> bool:
        """Whether several letters died in the last hour, and more than twice the
        average of earlier hours."""
        before = sum(self.hours[:-1]) / (len(self.hours) - 1)
        return self.last_hour >= SEVERAL and self.last_hour > 2 * before


@dataclass(frozen=True, slots=True)
class Archived:
    """Letters of a group in the discard bin, and when the first is deleted from it."""

    letters: int
    until: datetime | None


@dataclass(frozen=True, slots=True)
class LastResubmit:
    """The last operation that resubmitted letters of a group, and its result, among
    the newest letters."""

    operation_id: int
    sent: int
    dead_again: int


def standing(
    said: DeadLetterGroup | None, groups: Sequence[DeadLetterCount], now: datetime
) -> Standing:
    """The attention that a group needs, by its row and its letters that are on queues.

    Args:
        said: the row of the group, if there is one.
        groups: the parts of the group, on all queues.
        now: the current time.
    """
    if said is None or (said.acknowledged_at is None and said.snoozed_until is None):
        return Standing(Attention.NEW)
    if why := next(reasons(said, groups, now), ""):
        return Standing(Attention.BACK, why)
    is_put_off = said.snoozed_until is not None
    return Standing(Attention.SNOOZED if is_put_off else Attention.ACKNOWLEDGED)


def reasons(
    said: DeadLetterGroup, groups: Sequence[DeadLetterCount], now: datetime
) -> Iterator[str]:
    """The reasons why the acknowledgement or the snooze of a group no longer holds."""
    if said.snoozed_until is not None and said.snoozed_until <= now:
        yield "it was snoozed, and that time is over"
    letters = sum(group.messages for group in groups)
    if said.snoozed_above is not None and letters > said.snoozed_above:
        yield f"it has {letters:,} letters, more than {said.snoozed_above:,}"
    known = {tuple(pair) for pair in said.known}
    for group in groups:
        if (group.origin_queue, group.cause) not in known:
            cause = english(DeadLetter.Cause(group.cause).label)
            yield f"it is new on {group.origin_queue or 'no queue'}: {cause}"


def group_rows(fingerprints: Iterable[str]) -> dict[str, DeadLetterGroup]:
    """The stored rows of groups, by fingerprint. One query."""
    people = DeadLetterGroup.objects.select_related(
        "owner", "acknowledged_by", "snoozed_by"
    )
    return people.in_bulk(list(fingerprints))


def by_fingerprint(
    groups: Iterable[DeadLetterCount],
) -> dict[str, list[DeadLetterCount]]:
    """The parts of each group, by fingerprint, in their original order."""
    found: dict[str, list[DeadLetterCount]] = defaultdict(list)
    for group in groups:
        found[group.fingerprint].append(group)
    return dict(found)


def describe(
    fingerprint: str,
    *,
    owner: Any = None,
    note: str = "",
    ticket: str = "",
    now: datetime | None = None,
) -> DeadLetterGroup:
    """Set the owner, the note and the ticket link of a group.

    Raises:
        InvalidTicket: it is not a plain HTTP link.
        NoSuchGroup: no letter ever had this fingerprint.
    """
    ticket = ticket.strip()
    if ticket:
        check_ticket(ticket)
    note = note.strip().replace("\0", "")[:LONGEST_NOTE]
    return say(fingerprint, now, owner=owner, note=note, ticket=ticket)


def acknowledge(
    fingerprint: str, user: Any, known: Known, *, now: datetime | None = None
) -> DeadLetterGroup:
    """Acknowledge a group, until it appears on another queue or with another cause.

    Args:
        fingerprint: fingerprint of the group.
        user: the user who acknowledges it.
        known: the queues and causes that the user saw.
        now: the current time; the database's clock when not given.

    Raises:
        NoSuchGroup: no letter ever had this fingerprint.
    """
    return say(
        fingerprint,
        now,
        acknowledged_by=user,
        acknowledged_at=now or database_now(),
        known=sorted(set(known)),
        **AWAKE,
    )


def snooze(
    fingerprint: str,
    user: Any,
    known: Known,
    *,
    until: datetime,
    above: int | None = None,
    now: datetime | None = None,
) -> DeadLetterGroup:
    """Snooze a group until a time, by the database's clock. The snooze ends earlier if
    the group appears on another queue, with another cause, or has more letters.

    Args:
        fingerprint: fingerprint of the group.
        user: the user who snoozes it.
        known: the queues and causes that the user saw.
        until: the time at which the snooze ends.
        above: number of letters above which it ends at once. None: no limit.
        now: the current time; the database's clock when not given.

    Raises:
        InvalidSnooze: the time is in the past, or too far in the future.
        NoSuchGroup: no letter ever had this fingerprint.
    """
    at = now or database_now()
    if not at < until <= at + LONGEST_SNOOZE:
        raise InvalidSnooze(until, LONGEST_SNOOZE.days)
    return say(
        fingerprint,
        now,
        snoozed_by=user,
        snoozed_until=until,
        snoozed_above=above,
        known=sorted(set(known)),
        **UNACKNOWLEDGED,
    )


def reopen(fingerprint: str, *, now: datetime | None = None) -> DeadLetterGroup:
    """Cancel the acknowledgement or the snooze of a group."""
    return say(fingerprint, now, known=[], **AWAKE, **UNACKNOWLEDGED)


AWAKE = {"snoozed_by": None, "snoozed_until": None, "snoozed_above": None}
UNACKNOWLEDGED = {"acknowledged_by": None, "acknowledged_at": None}


@transaction.atomic
def say(fingerprint: str, now: datetime | None, **fields: Any) -> DeadLetterGroup:
    """Change fields of the row of a group; the row is created if it is missing."""
    known = DeadLetter.objects.filter(fingerprint=fingerprint).exists()
    if not (known or DeadLetterGroup.objects.filter(pk=fingerprint).exists()):
        raise NoSuchGroup(fingerprint)
    fields["changed_at"] = now or database_now()
    row, _ = DeadLetterGroup.objects.update_or_create(pk=fingerprint, defaults=fields)
    thing = audit.Thing("group of dead letters", fingerprint, fingerprint)
    said = {name: None if one is None else str(one) for name, one in fields.items()}
    audit.record(Act.SAY, thing, detail={"said": said})
    return row


def check_ticket(link: str) -> None:
    """Refuse a text that is not a plain HTTP link.

    Raises:
        InvalidTicket: the text is not such a link.
    """
    try:
        parts = urlsplit(link)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise InvalidTicket(link) from None
    is_plain = link.isprintable() and not {*' "<>\\^`{|}'} & {*link}
    is_web = parts.scheme in ("http", "https") and bool(host) and port != 0
    if not (is_plain and is_web) or "@" in parts.netloc or len(link) > LONGEST_TICKET:
        raise InvalidTicket(link)


def trends(
    fingerprints: Iterable[str],
    within: Iterable[int],
    *,
    now: datetime | None = None,
) -> Mapping[str, Trend]:
    """How many letters died in each hour of the last day, by fingerprint, including
    letters that have left their queue. One query."""
    hours: dict[str, list[int]] = defaultdict(lambda: [0] * HOURS)
    rows = sql.run(
        "dead_letter_hours",
        {
            "fingerprints": list(fingerprints),
            "within": list(within),
            "hours": HOURS,
            "now": now,
        },
    )
    for fingerprint, ago, letters in rows:
        hours[fingerprint][HOURS - 1 - ago] = letters
    return {key: Trend(tuple(counts)) for key, counts in hours.items()}


def consumers_of(fingerprint: str, within: Iterable[int]) -> list[tuple[str, int]]:
    """The consumers that had the newest letters when they died, by the journal; the
    most frequent first. An empty name: no consumer is known."""
    letters = newest(fingerprint, within)
    return journalled("died_with", [origin for _, origin, _ in letters], None)


def last_resubmit(fingerprint: str, within: Iterable[int]) -> LastResubmit | None:
    """The last operation that resubmitted any of the newest letters."""
    ids = [message_id for message_id, *_ in newest(fingerprint, within)]
    found = journalled("sent_by", ids, int(Kind.RESUBMIT))
    if not found:
        return None
    operation_id = found[0][0]
    items = OperationItem.objects.filter(operation=operation_id, message_id__in=ids)
    copies = [one for one in items.values_list("copy_id", flat=True) if one is not None]
    died = journalled("died_again", copies, int(Kind.DEAD_LETTER))
    return LastResubmit(operation_id, len(copies), died[0][0] if died else 0)


def archived(fingerprint: str, within: Iterable[int]) -> Archived:
    """The letters of a group that are in the discard bin, and can be restored."""
    asked = {"fingerprint": fingerprint, "within": list(within)}
    return Archived(*sql.fetch_one("archived_of_group", **asked))


def pattern_of(fingerprint: str, within: Iterable[int]) -> str | None:
    """The error pattern of a group; None if it never had a letter."""
    found = newest(fingerprint, within, limit=1)
    return found[0][2] if found else None


def newest(
    fingerprint: str, within: Iterable[int], *, limit: int = SAMPLE
) -> list[tuple[int, int, str]]:
    """The newest letters of a group, each with its original message and its error
    pattern, including letters that have left their queue."""
    asked = {"fingerprint": fingerprint, "within": list(within), "limit": limit}
    return sql.run("newest_of_group", asked)


def journalled(statement: str, ids: Iterable[int], kind: int | None) -> list[Any]:
    """Run a statement over the journal events of messages."""
    named = sorted(set(ids))
    if not named:
        return []
    bounds = {"ids": named, "first_id": named[0], "last_id": named[-1]}
    return sql.run(statement, bounds | ({} if kind is None else {"kind": kind}))
