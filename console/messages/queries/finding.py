"""Search for messages, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from broker.acts.declaring import Holds
from broker.errors.acts import InvalidRequest
from broker.monitoring import search as finding
from broker.monitoring import visible_search
from broker.security.authorities import Principal
from console.bodies import own_values
from console.edges.queries import Limit, build_answer, declared_query

VIEW = "broker.view_queue"
EFFORT = finding.Effort(seconds=1)  # the longest time of the search for one page
Filters = Annotated[
    tuple[str, ...],
    Holds(
        "Which messages, as under Search; all must match.",
        most=32,
        options=("-f", "--filter"),
    ),
]


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """One message on one queue."""

    columns: ClassVar[Sequence[str]] = (
        *("queue", "message_id", "number", "state", "priority", "tries", "put_at"),
        *("subject", "size_bytes", "error", "own"),
    )

    message_id: int
    number: int  # the number that all copies of the message share
    queue: str
    state: str  # ready, delayed, in-flight, dead, discarded
    priority: int
    tries: int  # the backout count; for a dead letter, before it became one
    # when its delay, its unit of work or its time in the discard bin ends
    until: datetime | None
    expires_at: datetime | None
    put_at: datetime | None
    address: str | None
    content_type: str | None
    subject: str | None
    client_message_id: str | None
    correlation_id: str | None
    producer: str | None
    size_bytes: int | None
    cause: str | None  # only dead letters have this field and those below
    error: str | None
    fingerprint: str | None
    origin_queue: str | None
    resubmit_count: int | None
    died_at: datetime | None
    own: dict[str, str | None]  # values by column, of the ``columns`` of the request


@dataclass(frozen=True, slots=True)
class FoundMessages:
    """A page of the search results; the next page begins after ``next``."""

    filter: str  # the filter in its normal form
    messages: list[FoundMessage]
    next: str | None
    looked_at: int  # messages examined for this page
    is_limited: bool  # the search limit was reached; there may be more

    @property
    def empty(self) -> str:
        return "" if self.is_limited else "Nothing was found."


@dataclass(frozen=True, slots=True)
class FindMessages:
    """Which messages, where the page begins, and its size."""

    f: Filters = ()
    after: Annotated[str, Holds("The next of the page before.", most=30)] = ""
    limit: Limit = 50
    columns: own_values.Texts = ()


@declared_query(VIEW)
def find_messages(actor: Principal, request: FindMessages) -> FoundMessages:
    """Find messages.

    Those that match a filter such as ``state:dead queue:orders* h.tenant:t7``, on
    queues that the caller may inquire, the newest first. One page examines a limited
    number of messages, for about a second; if that limit is reached first,
    ``is_limited`` is true and ``next`` continues. Filters on bodies or application
    properties need the authority ``browse``.
    """
    search = visible_search.search(actor, request.f)
    try:
        page = finding.find(
            search.filter,
            within=search.within,
            after=request.after,
            limit=request.limit,
            effort=EFFORT,
        )
    except ValueError as error:
        raise InvalidRequest((("after", f"no cursor: {error}"),)) from error
    queues = search.within
    rows = [(one.message_id, queues[one.queue_id]) for one in page.rows]
    own = own_values.values(actor, rows, request.columns)
    return FoundMessages(
        str(search.filter),
        [
            build_answer(
                FoundMessage, one, queue=queues[one.queue_id], own=own[one.message_id]
            )
            for one in page.rows
        ],
        page.after or None,
        page.looked_at,
        page.is_limited,
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of matching messages."""

    filter: str  # the filter in its normal form
    messages: int
    is_exact: bool  # false: at least this number of messages matches
    looked_at: int

    def __str__(self) -> str:
        least = "" if self.is_exact else "At least "
        return f"{least}{self.messages:,} of {self.looked_at:,} messages looked at."


@dataclass(frozen=True, slots=True)
class CountMessages:
    """Which messages."""

    f: Filters = ()


@declared_query(VIEW)
def count_messages(actor: Principal, request: CountMessages) -> Counted:
    """Count messages.

    The number of messages that match; counts up to a thousand.
    """
    search = visible_search.search(actor, request.f)
    counted = finding.count(search.filter, within=search.within)
    return build_answer(Counted, counted, filter=str(search.filter))
