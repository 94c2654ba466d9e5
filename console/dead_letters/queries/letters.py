"""Dead letters, alone and in groups, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from broker.acts.declaring import Holds
from broker.acts.groups import GroupState, state_of, states_of
from broker.acts.operations.message_sets import DeadLetters, select_letters
from broker.monitoring import dead_letter_groups, dead_letters
from broker.monitoring.dead_letters import NEWEST
from broker.monitoring.numbers import public_numbers
from broker.security.authorities import Principal
from console.edges.queries import build_answer, declared_query, page_of
from console.messages.dead_letter_query import matches, names_for
from dashboards.live import attention

VIEW = "broker.view_queue"
Fingerprint = Annotated[
    str | None, Holds("Those of the group with this fingerprint.", least=12, most=12)
]
ManyRows = Annotated[int, Holds("The most rows to return.", least=1, most=500)]


@dataclass(frozen=True, slots=True)
class ListLetters(DeadLetters):
    """Which dead letters, where the page begins (descending), and its size."""

    before: Annotated[
        int, Holds("The number before which the page begins.", least=1, most=NEWEST)
    ] = NEWEST
    limit: ManyRows = 50


@dataclass(frozen=True, slots=True)
class LetterState:
    """One dead letter."""

    columns: ClassVar[Sequence[str]] = (
        *("number", "message_id", "origin_queue", "queue", "died_at", "cause", "error"),
        *("fingerprint", "resubmit_count"),
    )

    message_id: int  # the id of this copy: a dead letter or a resubmit has another
    number: int  # the number that pages show, which all copies of the message share
    queue: str  # the queue that the dead letter is on
    cause: str
    error: str
    fingerprint: str
    origin_address: str
    origin_queue: str
    origin_id: int  # the message that the dead letter is a copy of
    backout_count: int
    resubmit_count: int
    died_at: datetime
    content_type: str
    size_bytes: int
    reason: int | None


@dataclass(frozen=True, slots=True)
class Letters:
    """A page of dead letters, the newest first; the next page is before ``next``."""

    empty: ClassVar = "No dead letters."

    letters: list[LetterState]
    next: int | None


@declared_query(VIEW)
def list_letters(actor: Principal, request: ListLetters) -> Letters:
    """Dead letters.

    Those on queues that the caller may inquire, the newest first.
    """
    names = names_for(actor)
    rows = dead_letters.letters(
        select_letters(request, names), before=request.before, limit=request.limit + 1
    )
    part, following = page_of(rows, request.limit, lambda one: one.message_id)
    numbers = public_numbers(one.message_id for one in part)
    return Letters(
        [
            build_answer(
                LetterState,
                one,
                number=numbers[one.message_id],
                queue=names[one.queue_id],
            )
            for one in part
        ],
        following,
    )


@dataclass(frozen=True, slots=True)
class EveryGroup:
    """Groups of dead letters, the largest first."""

    empty: ClassVar = "No dead letters."

    as_of: datetime  # the time of the count, up to some seconds ago
    groups: list[GroupState]


@declared_query(VIEW)
def list_groups(actor: Principal, request: DeadLetters) -> EveryGroup:
    """Groups of dead letters.

    Those with one error, on queues that the caller may inquire, the largest first.
    """
    names, newest = names_for(actor), attention.newest()
    selection = select_letters(request, names)
    found = dead_letter_groups.by_fingerprint(
        group for group in newest.every if matches(group, selection)
    )
    return EveryGroup(newest.at, states_of(found, names, newest.trends(names)))


@dataclass(frozen=True, slots=True)
class ReadGroup:
    """The group."""

    fingerprint: Annotated[str, Holds("Its fingerprint.")]


@declared_query(VIEW)
def read_group(actor: Principal, request: ReadGroup) -> GroupState:
    """A group, also if it has no dead letters now."""
    return state_of(actor, request.fingerprint)
