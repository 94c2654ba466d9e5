"""Open units of work, for REST and commands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from broker.acts.declaring import Holds
from broker.acts.objects import find_unit
from broker.formats import moments
from broker.monitoring.backout_preview import rehearse
from broker.monitoring.numbers import public_numbers
from broker.security import authorities
from broker.security.authorities import Principal
from broker.transactions import prepared_units
from broker.transactions.administration import HeldEntry, OpenUnit
from console.consumers import units_of_work as units
from console.edges.queries import (
    After,
    All,
    Limit,
    Number,
    build_answer,
    declared_query,
    page_of,
)
from console.queues.backout_preview import forecast_of

VIEW = "broker.view_queue"


@dataclass(frozen=True, slots=True)
class UnitOfWorkState:
    """An open unit of work."""

    columns: ClassVar[Sequence[str]] = (
        *("id", "nature", "messages", "puts", "queues", "held_since", "deadline"),
        *("actor", "process", "is_alive", "xid"),
    )

    id: int
    nature: Literal["leased", "ahead", "prepared"]  # ahead: a client that prefetches
    xid: str | None  # the coordinator's id; null: it is not prepared
    started_at: datetime
    deadline: datetime | None
    held_since: datetime | None  # since when it holds its oldest message
    is_late: bool
    actor: str  # who got the first message
    process: str
    kind: str  # the kind of its process; empty: unknown
    is_alive: bool  # whether its process is alive
    messages: int
    # Messages that it sends when it is committed; before it is prepared, of some two
    # seconds ago. Null: its client keeps them (``uncommitted`` of a connection).
    puts: int | None
    prepared_puts: int  # the same, once it is prepared
    queues: list[str]  # the queues of its messages that the caller may inquire
    hidden_queues: int  # the number of other queues


@dataclass(frozen=True, slots=True)
class HeldMessage:
    """A message that a unit of work holds, and what a backout would do with it."""

    columns: ClassVar[Sequence[str]] = (
        "message_id",
        "queue",
        "backout_count",
        "expected",
    )

    message_id: int
    number: int  # the number that all copies of the message share
    queue: str  # empty after the queue is deleted
    claimed_at: datetime
    backout_count: int
    priority: int
    address: str
    subject: str | None
    content_type: str
    size_bytes: int
    expected: str  # what happens to the message, as a sentence


@dataclass(frozen=True, slots=True)
class UnitOfWorkDetail(UnitOfWorkState):
    """An open unit of work with its messages, at most 100."""

    ending: str  # the ending that ``expected`` is about
    can_back_out: bool  # false: its coordinator or its client ends it
    held: list[HeldMessage]
    hidden: int  # how many of its first 100 messages the caller may not see

    def __str__(self) -> str:
        what = f"Unit of work {self.id} of {self.actor or 'somebody'} ({self.nature})"
        since = moments.in_utc(self.held_since or self.started_at)
        return f"{what} holds {self.messages:,} messages since {since}."


@dataclass(frozen=True, slots=True)
class UnitsOfWork:
    """A page of units of work, the oldest first; the next begins after ``next``."""

    empty: ClassVar = "No unit of work holds anything."

    units: list[UnitOfWorkState]
    next: int | None


@dataclass(frozen=True, slots=True)
class ListUnitsOfWork:
    """Where the page begins, and its size."""

    after: After = 0
    limit: Limit = 50


@declared_query(VIEW)
def list_units_of_work(actor: Principal, request: ListUnitsOfWork) -> UnitsOfWork:
    """Open units of work.

    Those that hold messages of queues that the caller may inquire, the oldest first.
    """
    held = authorities.held_by(actor)
    names = units.visible_queues(held)
    found = units.listed(held, names, after=request.after, limit=request.limit + 1)
    part, following = page_of(found, request.limit, lambda one: one.id)
    return UnitsOfWork(
        [build_answer(UnitOfWorkState, one, **unit_facts(one, names)) for one in part],
        following,
    )


@dataclass(frozen=True, slots=True)
class ReadUnitOfWork:
    """The unit of work, and the ending to expect."""

    uow: Number
    ending: Annotated[
        Literal["back_out", "lost", "release"] | None,
        Holds("The ending to expect; by default the most likely one."),
    ] = None


@declared_query(VIEW)
def read_unit_of_work(actor: Principal, request: ReadUnitOfWork) -> UnitOfWorkDetail:
    """An open unit of work.

    Its holder, its messages, and what would become of each of them.
    """
    held = authorities.held_by(actor)
    names, unit = units.visible_queues(held), find_unit(held, request.uow)
    visible, hidden = units.visible_entries(held, request.uow, names)
    offered = units.ENDINGS[unit.nature]
    ending = next((one for one in offered if one.value == request.ending), offered[0])
    foreseen = rehearse([one.held for one in visible], request.uow, ending)
    expected = [forecast_of(one).what for one in foreseen]
    return build_answer(
        UnitOfWorkDetail,
        unit,
        **unit_facts(unit, names),
        ending=ending.value,
        can_back_out=units.can_force(unit),
        held=held_messages(visible, names, expected),
        hidden=hidden,
    )


def unit_facts(unit: OpenUnit, names: Mapping[int, str]) -> dict[str, Any]:
    queues = units.queues_of(unit, names)
    return {
        "nature": unit.nature.value,
        "messages": unit.entries,
        "queues": [one for one in queues if one],
        "hidden_queues": queues.count(""),
    }


def held_messages(
    entries: Sequence[HeldEntry], names: Mapping[int, str], expected: Iterable[str]
) -> list[HeldMessage]:
    numbers = public_numbers(one.held.id for one in entries)
    return [
        build_answer(
            HeldMessage,
            one,
            message_id=one.held.id,
            number=numbers[one.held.id],
            queue=names.get(one.held.queue_id, ""),
            backout_count=one.held.backout_count,
            priority=one.held.priority,
            expected=what,
        )
        for one, what in zip(entries, expected, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class PreparedUnit:
    """A unit of work that waits for its coordinator."""

    uow: int
    xid: str  # the coordinator's id
    got: list[str]  # queues whose messages it holds
    to: list[str]  # addresses that it sends to
    may_decide: bool  # whether the caller may decide it


@dataclass(frozen=True, slots=True)
class PreparedUnits:
    """Prepared units of work, the oldest first."""

    empty: ClassVar = "No unit of work is prepared."

    prepared: list[PreparedUnit]


@declared_query(VIEW)
def list_prepared_units(actor: Principal, request: All) -> PreparedUnits:
    """Units of work that wait for their coordinator, the oldest first."""
    return PreparedUnits(
        [
            PreparedUnit(
                one.work.uow,
                one.work.xid,
                [name or "a queue that is gone" for name in one.got],
                one.to,
                one.may_decide,
            )
            for one in prepared_units.waiting(authorities.held_by(actor))
        ]
    )
