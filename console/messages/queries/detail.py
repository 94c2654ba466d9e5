"""One message, and why it is not delivered, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, ClassVar

from django.http import Http404

from broker.models import Message
from broker.monitoring import explain
from broker.monitoring.dead_letters import NEWEST
from broker.monitoring.numbers import copies_of, public_numbers
from broker.monitoring.related import related_to
from broker.queueing import browse
from broker.security import authorities
from broker.security.authorities import Principal
from console.edges import masking
from console.edges.numbers import numbered
from console.edges.queries import Number, build_answer, declared_query
from console.messages.detail import story_of
from console.messages.documents import message_document
from console.messages.queries.browsing import BROWSE, VIEW, FullMessage, Unmask
from console.messages.rights import require_for
from console.messages.timeline import failures


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that a consumer ended with an error."""

    columns: ClassVar[Sequence[str]] = ("at", "queue", "attempt", "actor", "error")

    at: datetime
    queue: str
    attempt: int | None
    actor: str  # the handler or client
    error: str
    stack: str  # the stack trace, if a handler in Python raised the error


@dataclass(frozen=True, slots=True)
class OneMessage(FullMessage):
    """A copy of a message, the ids of all copies, and their failed attempts."""

    columns: ClassVar[Sequence[str]] = (
        *(field.name for field in fields(FullMessage)),
        "copies",
    )

    copies: list[int]  # the original first, the newest last
    failures: list[Failure]  # the oldest first


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """The message, and the reason to unmask it."""

    message_id: Number
    unmask: Unmask = ""


@declared_query(BROWSE)
def read_message(actor: Principal, request: ReadMessage) -> OneMessage:
    """A message.

    With its properties and body, for callers who may browse a queue that it is or was
    on; also after it has ended, during its retention. Redaction rules mask parts of it;
    a caller with the authority ``unmask`` gives a reason to see them.

    A dead letter, a resubmit, a move and a repair each make a copy with an id of its
    own. The id may be that of any copy, which is returned; ``number`` is the same for
    all, and ``copies`` has all ids.
    """
    message_id = request.message_id
    story = story_of(message_id) if message_id <= NEWEST else None
    row = Message.objects.filter(pk=message_id).first() if story else None
    if story is None or row is None:
        raise Http404(f"message {message_id}")
    require_for(actor, "browse", story)
    entry = browse.as_delivery(
        row,
        queue_id=0,
        backout_count=story.backout_count,
        priority=row.priority,
        expires_at=row.expires_at,
        pos=0,
    )
    veil = masking.veil_for(actor, message_id, request.unmask)
    (told,) = numbered([message_document(entry, veil)])
    return OneMessage(
        **told,
        copies=sorted(copies_of([message_id])[message_id]),
        failures=[
            build_answer(Failure, one, queue=one.road.queue, stack=veil.text(one.stack))
            for one in failures(story.lives)
        ],
    )


@dataclass(frozen=True, slots=True)
class Explanation:
    """One fact about a message on one queue."""

    columns: ClassVar[Sequence[str]] = ("queue", "code", "sentence", "remedy")

    queue: str  # empty after the queue is deleted
    code: str  # stable, and safe to match on
    sentence: str
    remedy: str  # what to do
    details: dict[str, Any]  # times, users and numbers, by name


@dataclass(frozen=True, slots=True)
class Explanations:
    """Why a message is not delivered; on each queue, the first obstacle first."""

    message_id: int
    number: int  # the number that all copies of the message share
    explanations: list[Explanation]


@dataclass(frozen=True, slots=True)
class ExplainMessage:
    """The message."""

    message_id: Number


@declared_query(VIEW)
def explain_message(actor: Principal, request: ExplainMessage) -> Explanations:
    """Why a message is not being delivered.

    On the queues that the caller may browse; or how it ended.
    """
    message_id = request.message_id
    found = explain.explain(message_id) if message_id <= NEWEST else []
    if not found:
        raise Http404(f"message {message_id}")
    held = authorities.held_by(actor)
    seen = [
        one
        for one in found
        if held.everywhere("browse") or held.on("browse", one.queue)
    ]
    if not seen:
        queues = {one.queue or "#" for one in found}
        known = {one for one in queues if held.on("inquire", one)}
        lacks: authorities.Authority = "browse" if known else "inquire"
        raise authorities.refusal(actor, lacks, min(known or queues))
    return Explanations(
        message_id,
        public_numbers([message_id])[message_id],
        [build_answer(Explanation, one) for one in seen],
    )


@dataclass(frozen=True, slots=True)
class Related:
    """A message that belongs to another one."""

    columns: ClassVar[Sequence[str]] = (
        *("number", "relation", "put_at", "address", "subject"),
    )

    message_id: int
    number: int  # the number that all copies of the message share
    # cause: the message was put by the unit of work that accepted this one;
    # request: the message answers this one;
    # effect: this one was put by the unit of work that accepted the message;
    # answer: this one answers the message; correlation: the ids are the same
    relation: str
    put_at: datetime | None  # null: it is past its retention
    address: str
    subject: str


@dataclass(frozen=True, slots=True)
class RelatedList:
    """Messages that belong to a message, the closest relations first."""

    empty: ClassVar = "No related message is known."

    message_id: int
    related: list[Related]
    hidden: int  # those on queues that the caller may not inquire


@dataclass(frozen=True, slots=True)
class ListRelatedMessages:
    """The message."""

    message_id: Number


@declared_query(VIEW)
def list_related_messages(
    actor: Principal, request: ListRelatedMessages
) -> RelatedList:
    """Messages that belong to a message.

    Its request and its answers, messages with the same correlation id, what was put by
    the unit of work that accepted it, and what was accepted by that which put it.
    Correlation ids are compared with those of the 5,000 messages before and after it.
    """
    message_id = request.message_id
    story = story_of(message_id) if message_id <= NEWEST else None
    if story is None:
        raise Http404(f"message {message_id}")
    held = require_for(actor, "inquire", story)
    found = related_to(message_id, held)
    return RelatedList(
        message_id,
        [build_answer(Related, one) for one in found.messages],
        found.hidden,
    )
