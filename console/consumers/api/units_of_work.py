"""Open units of work: list them, read one, and back one out by force."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from broker.acts.objects import find_unit
from broker.acts.units_of_work import (
    back_out_prepared_unit,
    back_out_unit_of_work,
    commit_prepared_unit,
)
from broker.monitoring.backout_preview import rehearse
from broker.security import authorities
from broker.transactions.administration import HeldEntry, OpenUnit
from console.consumers import units_of_work as units
from console.edges.numbers import numbered
from console.edges.rest.acts import serve
from console.edges.rest.numbers import Numbered
from console.edges.rest.problems import REFUSED, require
from console.queues.backout_preview import forecast_of

router = Router(tags=["units of work"])


class UnitOfWorkState(Schema):
    """An open unit of work."""

    id: int
    nature: Literal["leased", "ahead", "prepared"]  # ahead: a client that prefetches
    xid: str | None  # the coordinator's id; null: it is not prepared
    started_at: datetime
    deadline: datetime | None
    held_since: datetime | None  # since when it holds its oldest message
    is_late: bool
    actor: str  # who got the first message
    process: str
    kind: str  # of its process; empty: unknown
    is_alive: bool  # whether its process is alive
    messages: int
    prepared_puts: int  # messages that it sends when it is committed
    queues: list[str]  # those that the caller may inquire
    hidden_queues: int  # other queues


class HeldMessage(Numbered):
    """A message that a unit of work holds, and what a backout would do with it."""

    queue: str  # empty after the queue is deleted
    claimed_at: datetime
    backout_count: int
    priority: int
    address: str
    subject: str | None
    content_type: str
    size_bytes: int
    expected: str  # what happens to it, as a sentence


class UnitOfWorkDetail(UnitOfWorkState):
    """An open unit of work with its messages, at most 100."""

    ending: str  # the ending that ``expected`` is about
    can_back_out: bool  # false: its coordinator or its client ends it
    held: list[HeldMessage]
    hidden: int  # of its first 100 messages, those that the caller may not see


class UnitsOfWork(Schema):
    """A page of units of work, the oldest first; the next begins after ``next``."""

    units: list[UnitOfWorkState]
    next: int | None


class UnitsOfWorkPage(Schema):
    """Where the page begins, and its size."""

    after: int = Field(default=0, ge=0, lt=2**63 - 1)
    limit: int = Field(default=50, ge=1, le=200)


class EndingQuery(Schema):
    """The ending to expect; by default the most likely one."""

    ending: Literal["back_out", "lost", "release"] | None = None


@router.get(
    "/units-of-work",
    response={200: UnitsOfWork, **REFUSED},
    summary="Open units of work",
)
def list_units_of_work(
    request: HttpRequest, page: Query[UnitsOfWorkPage]
) -> dict[str, Any]:
    """Units of work that hold messages of queues that the caller may inquire."""
    require(request, "broker.view_queue")
    held = authorities.held_by(request.user)
    names = units.visible_queues(held)
    found = units.listed(held, names, after=page.after, limit=page.limit + 1)
    part = found[: page.limit]
    return {
        "units": [state_of(one, names) for one in part],
        "next": part[-1].id if len(found) > page.limit else None,
    }


@router.get(
    "/units-of-work/{int:uow}",
    response={200: UnitOfWorkDetail, **REFUSED},
    summary="An open unit of work",
)
def read_unit_of_work(
    request: HttpRequest, uow: Path[int], what_if: Query[EndingQuery]
) -> dict[str, Any]:
    """Its holder, its messages, and what would become of each of them."""
    require(request, "broker.view_queue")
    held, names, unit = visible_unit(request, uow)
    visible, hidden = units.visible_entries(held, uow, names)
    offered = units.ENDINGS[unit.nature]
    ending = next((one for one in offered if one.value == what_if.ending), offered[0])
    foreseen = rehearse([one.held for one in visible], uow, ending)
    fates = [forecast_of(one).what for one in foreseen]
    rows = [
        held_document(one, names, fate)
        for one, fate in zip(visible, fates, strict=True)
    ]
    return state_of(unit, names) | {
        "ending": ending.value,
        "can_back_out": units.can_force(unit),
        "held": numbered(rows),
        "hidden": hidden,
    }


serve(router, "POST", "/units-of-work/{int:uow}/back-out", back_out_unit_of_work)
serve(router, "POST", "/prepared/{int:uow}/commit", commit_prepared_unit)
serve(router, "POST", "/prepared/{int:uow}/back-out", back_out_prepared_unit)


def visible_unit(
    request: HttpRequest, uow: int
) -> tuple[authorities.GrantedAuthorities, dict[int, str], OpenUnit]:
    """A unit of work that the caller may see, with the queues they may inquire."""
    held = authorities.held_by(request.user)
    return held, units.visible_queues(held), find_unit(held, uow)


def state_of(unit: OpenUnit, names: dict[int, str]) -> dict[str, Any]:
    plain = (
        *("id", "xid", "started_at", "deadline", "held_since", "is_late", "actor"),
        *("process", "kind", "is_alive", "prepared_puts"),
    )
    queues = units.queues_of(unit, names)
    return {
        **{name: getattr(unit, name) for name in plain},
        "nature": unit.nature.value,
        "messages": unit.entries,
        "queues": [one for one in queues if one],
        "hidden_queues": queues.count(""),
    }


def held_document(
    one: HeldEntry, names: dict[int, str], expected: str
) -> dict[str, Any]:
    plain = ("claimed_at", "address", "subject", "content_type", "size_bytes")
    return {
        **{name: getattr(one, name) for name in plain},
        "message_id": one.held.id,
        "queue": names.get(one.held.queue_id, ""),
        "backout_count": one.held.backout_count,
        "priority": one.held.priority,
        "expected": expected,
    }
