"""Groups of dead letters: their state, and their notes by operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from ninja import Path, Router, Schema
from ninja.errors import ValidationError
from pydantic import AwareDatetime, Field

from broker.models import DeadLetterGroup
from broker.monitoring import dead_letter_groups
from broker.monitoring.dead_letters import DeadLetterCount
from broker.security.users import named
from broker.sql import database_now
from console.accounts.permissions import CHANGE
from console.edges.problems import NO_NUL, REFUSED, Problem, require
from console.edges.requests import RequestBody
from console.messages.dead_letter_query import known_of, names_for, parts_of
from dashboards.live import attention

router = Router(tags=["dead letter groups"])

REFUSED_TOO = {400: Problem, **REFUSED}


class GroupPart(Schema):
    """Dead letters of a group with the same origin, cause and present queue."""

    origin_queue: str
    cause: str
    queue: str  # the queue they are on
    messages: int
    first_died_at: datetime
    last_died_at: datetime


class GroupState(Schema):
    """A group: its dead letters now, and its notes."""

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


class EveryGroup(Schema):
    as_of: datetime  # the time of the count, up to some seconds ago
    groups: list[GroupState]


class Description(RequestBody):
    """The owner of a group, a note, and a link to further documentation."""

    owner: str | None = Field(default=None, max_length=150, pattern=NO_NUL)
    note: str = Field(
        default="", max_length=dead_letter_groups.LONGEST_NOTE, pattern=NO_NUL
    )
    ticket: str = Field(default="", max_length=2000, pattern=NO_NUL)


class Snooze(RequestBody):
    """Until when, and the number of dead letters that ends the snooze earlier."""

    until: AwareDatetime
    above: int | None = Field(default=None, ge=0, lt=2**31)


ONE = "/dead-letter-groups/{fingerprint}"


@router.get(
    "/dead-letter-groups",
    response={200: EveryGroup, **REFUSED},
    summary="Groups of dead letters",
)
def list_groups(request: HttpRequest) -> dict[str, Any]:
    """Groups of dead letters on queues the caller may inquire, the largest first."""
    require(request, "broker.view_queue")
    names = names_for(request.user)
    seen = attention.newest()
    found = dead_letter_groups.by_fingerprint(
        group for group in seen.every if group.queue_id in names
    )
    return {"as_of": seen.at, "groups": told(found, names, seen.trends(names))}


@router.get(ONE, response={200: GroupState, **REFUSED}, summary="A group")
def read_group(request: HttpRequest, fingerprint: Path[str]) -> dict[str, Any]:
    """One group, also if it has no dead letters now."""
    require(request, "broker.view_queue")
    return state_of(request, fingerprint)


@router.put(
    f"{ONE}/description",
    response={200: GroupState, **REFUSED_TOO},
    summary="Set the owner, note and ticket of a group",
)
def describe_group(
    request: HttpRequest, fingerprint: Path[str], body: Description
) -> dict[str, Any]:
    """Replaces owner, note and link. They stay after the dead letters are gone."""
    require(request, CHANGE)
    known_of(request.user, fingerprint)
    owner = None
    if body.owner:
        owner = named(body.owner).filter(is_active=True).first()
        if owner is None:
            why = "There is no active user of this name."
            raise ValidationError([{"loc": ["body", "body", "owner"], "msg": why}])
    with transaction.atomic():
        dead_letter_groups.describe(
            fingerprint, owner=owner, note=body.note, ticket=body.ticket
        )
    return said(request, fingerprint)


@router.post(
    f"{ONE}/acknowledge",
    response={200: GroupState, **REFUSED},
    summary="Acknowledge a group",
)
def acknowledge_group(request: HttpRequest, fingerprint: Path[str]) -> dict[str, Any]:
    """Acknowledges it until it appears on another queue or with another cause."""
    require(request, CHANGE)
    known = known_of(request.user, fingerprint)
    with transaction.atomic():
        dead_letter_groups.acknowledge(fingerprint, request.user, known)
    return said(request, fingerprint)


@router.post(
    f"{ONE}/snooze",
    response={200: GroupState, **REFUSED_TOO},
    summary="Snooze a group",
)
def snooze_group(
    request: HttpRequest, fingerprint: Path[str], body: Snooze
) -> dict[str, Any]:
    """Hides the group until the given time, or until it grows above the limit or
    appears on another queue or with another cause.
    """
    require(request, CHANGE)
    known = known_of(request.user, fingerprint)
    with transaction.atomic():
        dead_letter_groups.snooze(
            fingerprint, request.user, known, until=body.until, above=body.above
        )
    return said(request, fingerprint)


@router.post(
    f"{ONE}/ask-again",
    response={200: GroupState, **REFUSED},
    summary="Remove an acknowledgement or a snooze",
)
def ask_again_group(request: HttpRequest, fingerprint: Path[str]) -> dict[str, Any]:
    """Removes an acknowledgement or a snooze."""
    require(request, CHANGE)
    known_of(request.user, fingerprint)
    with transaction.atomic():
        dead_letter_groups.ask_again(fingerprint)
    return said(request, fingerprint)


def said(request: HttpRequest, fingerprint: str) -> dict[str, Any]:
    """The state of a group after a change of its notes."""
    attention.forget()
    return state_of(request, fingerprint)


def state_of(request: HttpRequest, fingerprint: str) -> dict[str, Any]:
    names = names_for(request.user)
    parts = parts_of(fingerprint, names)
    trends = dead_letter_groups.trends([fingerprint], names)
    (found,) = told({fingerprint: parts}, names, trends)
    return found


def told(
    found: dict[str, list[DeadLetterCount]],
    names: dict[int, str],
    trends: Mapping[str, dead_letter_groups.Trend],
) -> list[dict[str, Any]]:
    """Groups with their notes. Two queries."""
    at = database_now()
    rows = dead_letter_groups.group_rows(found)
    return [
        {
            "fingerprint": key,
            "pattern": parts[0].pattern if parts else "",
            "messages": sum(part.messages for part in parts),
            "parts": [part_of(part, names) for part in parts],
            "hours": list(trends.get(key, dead_letter_groups.Trend()).hours),
            **said_in(rows.get(key), parts, at),
        }
        for key, parts in found.items()
    ]


def part_of(part: DeadLetterCount, names: dict[int, str]) -> dict[str, Any]:
    plain = ("origin_queue", "cause", "messages", "first_died_at", "last_died_at")
    fields = {name: getattr(part, name) for name in plain}
    return fields | {"queue": names.get(part.queue_id, "")}


def said_in(
    row: DeadLetterGroup | None, parts: Sequence[DeadLetterCount], at: datetime
) -> dict[str, Any]:
    standing = dead_letter_groups.standing(row, parts, at)
    row = row or DeadLetterGroup()
    by = row.acknowledged_by
    return {
        "standing": standing.attention.value,
        "why": standing.why,
        "owner": row.owner.get_username() if row.owner else None,
        "note": row.note,
        "ticket": row.ticket,
        "acknowledged_by": by.get_username() if by else None,
        "acknowledged_at": row.acknowledged_at,
        "snoozed_until": row.snoozed_until,
        "snoozed_above": row.snoozed_above,
    }
