"""The messages of a queue, for REST and commands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal

from django.core.exceptions import PermissionDenied

from broker.acts.declaring import Holds, QueueName
from broker.acts.visible_queues import find_queue
from broker.errors.acts import InvalidRequest
from broker.models import Queue
from broker.monitoring.numbers import public_numbers
from broker.queueing import browse
from broker.security import audit, authorities
from broker.security.authorities import Principal
from console.bodies import own_values
from console.edges import masking, permissions
from console.edges.numbers import numbered
from console.edges.queries import Limit, build_answer, declared_query, page_of
from console.messages.documents import PLACES, message_document

VIEW, BROWSE = "broker.view_queue", "broker.browse_queue"
Unmask = Annotated[
    str,
    Holds("Why masked values are to be shown, to those who may unmask.", most=500),
]


@dataclass(frozen=True, slots=True)
class FullMessage:
    """A complete message."""

    message_id: int
    number: int  # the number that all copies of the message share
    put_at: datetime
    content_type: str
    encoding: Literal["text", "base64"]  # how the body is encoded
    body: str
    charset: str  # the character set of the body's bytes; empty for base64
    address: str
    properties: dict[str, Any]
    priority: int
    durable: bool
    client_message_id: str | None
    correlation_id: str | None
    reply_to: str | None
    subject: str | None
    group_id: str | None
    producer: str
    expires_at: datetime | None
    backout_count: int  # deliveries that were backed out
    headers_base64: str | None  # the chain of IBM MQ headers before the body
    # the fields of IBM MQ's MQMD that differ from their defaults
    descriptor: dict[str, Any] | None
    masked_by: list[str]  # names of the redaction rules that mask parts of it
    is_withheld: bool  # the whole body is masked; only its length is given


@dataclass(frozen=True, slots=True)
class BrowsedMessage:
    """A message on a queue."""

    message_id: int
    number: int  # the number that all copies of the message share
    priority: int
    backout_count: int
    until: datetime | None  # when its delay ends, or the time of its unit of work
    expires_at: datetime | None
    put_at: datetime
    content_type: str
    subject: str | None
    producer: str
    size_bytes: int
    own: dict[str, str | None]  # values by column, of the ``columns`` of the request


@dataclass(frozen=True, slots=True)
class Entries:
    """A page of the entries of a queue; the next page begins after ``next``."""

    empty: ClassVar = "No such message is on the queue."

    entries: list[BrowsedMessage]
    # the same messages with properties and bodies, if requested
    messages: list[FullMessage] | None
    next: str | None


@dataclass(frozen=True, slots=True)
class BrowseQueue:
    """Which entries, and the size of the page."""

    queue: QueueName
    place: Annotated[
        Literal["ready", "in-flight", "delayed"], Holds("The state of the messages.")
    ] = "ready"
    after: Annotated[str, Holds("The next of the page before.", most=60)] = ""
    limit: Limit = 50
    whole: Annotated[bool, Holds("Whether to return properties and bodies.")] = False
    unmask: Unmask = ""
    columns: own_values.Texts = ()


@declared_query(VIEW)
def browse_queue(actor: Principal, request: BrowseQueue) -> Entries:
    """Browse a queue.

    Its entries, in the order of gets, of due times, or of message numbers; nothing
    changes. Complete messages need the permission ``broker.browse_queue``, too, and the
    authority ``browse``.
    """
    if request.whole and not permissions.may(actor, BROWSE):
        raise PermissionDenied(f"The permission {BROWSE} is missing.")
    queue = find_queue(authorities.held_by(actor), request.queue)
    if request.whole:
        authorities.require(actor, "browse", queue.name)
    place, most = PLACES[request.place], request.limit + 1
    try:
        found = browse.browse(queue.pk, place, after=request.after, limit=most)
    except (ValueError, OverflowError) as error:
        raise InvalidRequest((("after", f"no cursor: {error}"),)) from error
    part, following = page_of(found, request.limit, lambda one: one.cursor)
    numbers = public_numbers(one.message_id for one in part)
    places = [(one.message_id, queue.name) for one in part]
    own = own_values.values(actor, places, request.columns)
    return Entries(
        [
            build_answer(
                BrowsedMessage,
                one,
                number=numbers[one.message_id],
                own=own[one.message_id],
            )
            for one in part
        ],
        full_messages(actor, queue, part, request.unmask) if request.whole else None,
        following,
    )


def full_messages(
    actor: Principal, queue: Queue, entries: list[browse.Browsed], why: str
) -> list[FullMessage]:
    """Entries of a queue with their bodies, masked for the actor."""
    found = browse.whole(queue.pk, entries)
    sight = masking.sight_for(actor, why, audit.Thing.of(queue))
    veils = sight.veils(one.message_id for one in found)
    told = [message_document(one, veils[one.message_id]) for one in found]
    return [FullMessage(**one) for one in numbered(told)]
