"""Acts on groups of dead letters: describe, acknowledge, snooze, reopen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from django.utils.translation import gettext_noop

from broker.acts.declaring import Holds, declared
from broker.errors.acts import InvalidRequest
from broker.models import Act, DeadLetterGroup
from broker.monitoring import dead_letter_groups, visible_groups
from broker.monitoring.dead_letters import DeadLetterCount
from broker.security import authorities
from broker.security.authorities import Principal
from broker.security.permissions import CHANGE
from broker.security.users import named
from broker.sql import database_now

Fingerprint = Annotated[
    str,
    Holds(gettext_noop("Its fingerprint."), names="group of dead letters", most=100),
]


@dataclass(frozen=True, slots=True)
class GroupPart:
    """Dead letters of a group with the same origin, cause and present queue."""

    origin_queue: str
    cause: str
    queue: str  # queue that the dead letters are on now
    messages: int
    first_died_at: datetime
    last_died_at: datetime


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group: its dead letters now, and its notes."""

    columns: ClassVar[Sequence[str]] = (
        *("messages", "pattern", "fingerprint", "standing", "why", "owner", "ticket"),
        "snoozed_until",
    )

    fingerprint: str
    pattern: str
    messages: int
    parts: list[GroupPart]
    standing: str  # new, back, acknowledged or snoozed
    why: str  # why the group is back; else empty
    owner: str | None
    note: str
    ticket: str
    acknowledged_by: str | None
    acknowledged_at: datetime | None
    snoozed_until: datetime | None
    snoozed_above: int | None
    hours: list[int]  # dead letters in each of the last 24 hours, oldest first

    def __str__(self) -> str:
        state = f"Group {self.fingerprint} is {self.standing}"
        return f"{state}: {self.pattern}" if self.pattern else f"{state}."


def states_of(
    found: Mapping[str, Sequence[DeadLetterCount]],
    names: Mapping[int, str],
    trends: Mapping[str, dead_letter_groups.Trend],
) -> list[GroupState]:
    """Groups with their notes. Two queries.

    Args:
        found: the parts of each, by fingerprint.
        names: queues that the reader may inquire: names by id.
        trends: by fingerprint.
    """
    at, rows = database_now(), dead_letter_groups.group_rows(found)
    states = []
    for key, parts in found.items():
        row = rows.get(key) or DeadLetterGroup()
        standing = dead_letter_groups.standing(rows.get(key), parts, at)
        by = row.acknowledged_by
        state = GroupState(
            fingerprint=key,
            pattern=parts[0].pattern if parts else "",
            messages=sum(part.messages for part in parts),
            parts=[
                GroupPart(
                    origin_queue=part.origin_queue,
                    cause=part.cause,
                    queue=names.get(part.queue_id, ""),
                    messages=part.messages,
                    first_died_at=part.first_died_at,
                    last_died_at=part.last_died_at,
                )
                for part in parts
            ],
            standing=standing.attention.value,
            why=standing.why,
            owner=row.owner.get_username() if row.owner else None,
            note=row.note,
            ticket=row.ticket,
            acknowledged_by=by.get_username() if by else None,
            acknowledged_at=row.acknowledged_at,
            snoozed_until=row.snoozed_until,
            snoozed_above=row.snoozed_above,
            hours=list(trends.get(key, dead_letter_groups.Trend()).hours),
        )
        states.append(state)
    return states


def state_of(actor: Principal, fingerprint: str) -> GroupState:
    """A group as the actor may see it.

    Raises:
        NoSuchGroup: the actor sees no dead letter of it.
    """
    held = authorities.held_by(actor)
    parts = visible_groups.parts_for(held, fingerprint)
    names = visible_groups.queues_for(held)
    trends = dead_letter_groups.trends([fingerprint], names)
    (found,) = states_of({fingerprint: parts}, names, trends)
    return found


def known_to(actor: Principal, fingerprint: str) -> set[tuple[str, str]]:
    """The queues and causes of a group that the actor may see."""
    held = authorities.held_by(actor)
    parts = visible_groups.parts_for(held, fingerprint)
    return {(one.origin_queue, one.cause) for one in parts}


@dataclass(frozen=True, slots=True)
class DescribeGroup:
    """The owner of a group, a note, and a link to further documentation."""

    fingerprint: Fingerprint
    owner: Annotated[
        str | None, Holds(gettext_noop("The user who takes care of it."), most=150)
    ] = None
    note: Annotated[
        str, Holds(gettext_noop("A note."), most=dead_letter_groups.LONGEST_NOTE)
    ] = ""
    ticket: Annotated[
        str, Holds(gettext_noop("A link to more, with http or https."), most=2000)
    ] = ""


@declared(permission=CHANGE, recorded_as=Act.SAY)
def describe_group(actor: Principal, request: DescribeGroup) -> GroupState:
    """Set the owner, note and ticket of a group.

    They replace what was set before, and stay after the dead letters are gone.
    """
    owner = None
    if request.owner:
        owner = named(request.owner).filter(is_active=True).first()
        if owner is None:
            raise InvalidRequest((("owner", "There is no active user of this name."),))
    dead_letter_groups.describe(
        request.fingerprint, owner=owner, note=request.note, ticket=request.ticket
    )
    return state_of(actor, request.fingerprint)


@dataclass(frozen=True, slots=True)
class AcknowledgeGroup:
    """The group."""

    fingerprint: Fingerprint


@declared(permission=CHANGE, recorded_as=Act.SAY, needs_person=True)
def acknowledge_group(actor: Principal, request: AcknowledgeGroup) -> GroupState:
    """Acknowledge a group.

    It needs attention again when it appears on another queue or with another cause.
    """
    known = known_to(actor, request.fingerprint)
    dead_letter_groups.acknowledge(request.fingerprint, actor, known)
    return state_of(actor, request.fingerprint)


@dataclass(frozen=True, slots=True)
class SnoozeGroup:
    """Until when, and the number of dead letters that ends the snooze earlier."""

    fingerprint: Fingerprint
    until: Annotated[datetime, Holds(gettext_noop("Until when, or for how long."))]
    above: Annotated[
        int | None,
        Holds(
            gettext_noop("Not after it has more dead letters than this."),
            least=0,
            most=2**31 - 1,
        ),
    ] = None


@declared(permission=CHANGE, recorded_as=Act.SAY, needs_person=True)
def snooze_group(actor: Principal, request: SnoozeGroup) -> GroupState:
    """Snooze a group.

    It needs attention again at the given time, or earlier if it grows above the limit
    or appears on another queue or with another cause.
    """
    known = known_to(actor, request.fingerprint)
    dead_letter_groups.snooze(
        request.fingerprint, actor, known, until=request.until, above=request.above
    )
    return state_of(actor, request.fingerprint)


@dataclass(frozen=True, slots=True)
class ReopenGroup:
    """The group."""

    fingerprint: Fingerprint


@declared(permission=CHANGE, recorded_as=Act.SAY)
def reopen_group(actor: Principal, request: ReopenGroup) -> GroupState:
    """Remove the acknowledgement or the snooze of a group."""
    dead_letter_groups.reopen(request.fingerprint)
    return state_of(actor, request.fingerprint)
