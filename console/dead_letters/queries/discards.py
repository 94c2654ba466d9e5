"""The discard bin, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from django.utils import timezone

from broker.acts.declaring import Holds
from broker.errors.acts import InvalidRequest
from broker.monitoring.numbers import public_numbers
from broker.security import authorities
from broker.security.authorities import Principal
from broker.settlement import discards as bin_of
from console.dead_letters import discard_bin
from console.dead_letters.queries.letters import VIEW, Fingerprint, ManyRows
from console.edges.queries import build_answer, declared_query, page_of
from console.messages.dead_letter_query import LARGEST


@dataclass(frozen=True, slots=True)
class DiscardedMessage:
    """A message in the discard bin."""

    columns: ClassVar[Sequence[str]] = (
        *("number", "message_id", "queue", "discarded_at", "why", "reason"),
        *("keep_until", "obstacle"),
    )

    message_id: int  # the id of this copy: a dead letter or a resubmit has another
    number: int  # the number that pages show, which all copies of the message share
    queue: str  # the queue where the message was discarded
    discarded_at: datetime
    keep_until: datetime
    reason: int | None  # IBM MQ's code
    why: str
    backout_count: int
    expires_at: datetime | None
    content_type: str
    size_bytes: int
    obstacle: str  # why it cannot be restored; empty: it can


@dataclass(frozen=True, slots=True)
class Discards:
    """A page of the bin, the newest first; the next page is before ``next``."""

    empty: ClassVar = "The discard bin is empty."

    discards: list[DiscardedMessage]
    next: str | None


@dataclass(frozen=True, slots=True)
class ListDiscards:
    """Which messages, where the page begins, and its size."""

    queue: Annotated[
        str | None, Holds("Those discarded from this queue.", most=255)
    ] = None
    reason: Annotated[
        int | None,
        Holds("Those with this code of IBM MQ; 0: without one.", least=0, most=LARGEST),
    ] = None
    fingerprint: Fingerprint = None
    before: Annotated[str, Holds("The ``next`` of the page before.", most=100)] = ""
    limit: ManyRows = 50


@declared_query(VIEW)
def list_discards(actor: Principal, request: ListDiscards) -> Discards:
    """The discard bin.

    Discarded messages of queues that the caller may inquire, the newest first.
    """
    try:
        before = discard_bin.position(request.before)
    except (ValueError, OverflowError):
        raise InvalidRequest((("before", "It is no cursor of this list."),)) from None
    found = bin_of.discarded(
        queue=request.queue,
        reason=request.reason,
        fingerprint=request.fingerprint,
        within=bin_of.visible_queues(authorities.held_by(actor)),
        before=before,
        limit=request.limit + 1,
    )
    part, following = page_of(found, request.limit, discard_bin.cursor_of)
    now = timezone.now()
    numbers = public_numbers(one.message_id for one in part)
    return Discards(
        [
            build_answer(
                DiscardedMessage,
                one,
                number=numbers[one.message_id],
                obstacle=discard_bin.obstacle_of(one, now),
            )
            for one in part
        ],
        following,
    )
