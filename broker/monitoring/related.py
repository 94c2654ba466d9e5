"""Messages that belong together: requests and answers, conversations, and what was put
while a message was processed.

Correlation ids have no index, so that puts stay cheap. Answers come soon after their
requests: only messages whose numbers are near are read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from django.utils.translation import gettext_noop

from broker import sql
from broker.models import Message, Queue
from broker.monitoring.numbers import copies_of
from broker.queueing.mentions import jms_id
from broker.security.authorities import GrantedAuthorities

NEAR = 5_000  # messages before and after the message that are read
COPIES = 4  # of a message with more, the first and the last ones are read
MOST = 50  # related messages by ids, and as many by units of work
DIGITS = 16  # of the number in an id that the broker made


class Relation(StrEnum):
    """How another message is related to one; the closest first."""

    CAUSE = "cause"  # this one was put by the unit of work that accepted the other
    REQUEST = "request"  # its id is the correlation id of this one
    EFFECT = "effect"  # it was put by the unit of work that accepted this one
    ANSWER = "answer"  # its correlation id is the id of this one
    CORRELATION = "correlation"  # it has the same correlation id

    @property
    def words(self) -> str:
        """What the other message did, after its name."""
        return WORDS[self]


WORDS = {
    Relation.CAUSE: gettext_noop("was being processed when this one was put"),
    Relation.REQUEST: gettext_noop("is the request that this one answers"),
    Relation.EFFECT: gettext_noop("was put while this one was processed"),
    Relation.ANSWER: gettext_noop("answers this one"),
    Relation.CORRELATION: gettext_noop("has the same correlation id"),
}
CLOSEST = list(Relation)


class Neighbour(NamedTuple):
    """A related message, or a copy of one."""

    id: int
    number: int  # that all its copies share
    relation: str


@dataclass(frozen=True, slots=True)
class RelatedMessage:
    """A related message; of several relations, the closest."""

    message_id: int
    number: int
    relation: Relation
    put_at: datetime | None  # None: it is past its retention, as are the next two
    address: str
    subject: str


@dataclass(frozen=True, slots=True)
class RelatedMessages:
    """The related messages, the closest relations first."""

    messages: Sequence[RelatedMessage]
    hidden: int  # related messages that the actor may not see


def related_to(message_id: int, held: GrantedAuthorities) -> RelatedMessages:
    """The messages that are related to one, or to a copy of it. Six queries, however
    many there are.

    Args:
        message_id: the id of the message, or of a copy.
        held: the actor's authorities; one may see the messages of queues that one may
            inquire.
    """
    copies = sorted(copies_of([message_id])[message_id])
    ids = sorted({message_id, *copies[:1], *copies[1 - COPIES :]})
    closest: dict[int, Neighbour] = {}
    for one in sorted([*by_ids(message_id, ids), *by_work(ids)], key=rank):
        if one.number != copies[0]:
            closest.setdefault(one.number, one)
    visible = visible_among([one.id for one in closest.values()], held)
    found = Message.objects.filter(pk__in=visible).only("put_at", "address", "subject")
    rows = {one.pk: one for one in found}
    return RelatedMessages(
        [
            RelatedMessage(
                *(one.id, one.number, Relation(one.relation)),
                put_at=row.put_at if (row := rows.get(one.id)) else None,
                address=row.address if row else "",
                subject=row.subject or "" if row else "",
            )
            for one in closest.values()
            if one.id in visible
        ],
        hidden=len(closest) - len(visible),
    )


def rank(one: Neighbour) -> tuple[int, int]:
    return CLOSEST.index(Relation(one.relation)), one.id


def by_ids(message_id: int, ids: Sequence[int]) -> list[Neighbour]:
    """Requests, answers, and messages with the same correlation id. Two queries."""
    rows = Message.objects.filter(pk__in=ids)
    columns = rows.values_list("message_id", "correlation_id").order_by("pk")
    own, correlation_id = columns.first() or (None, None)
    return sql.fetch(
        "related_by_id",
        Neighbour,
        ids=ids,
        names=[own] if own else [jms_id(one) for one in ids],
        correlation_id=correlation_id or None,
        request_id=number_in(correlation_id or ""),
        message_id=message_id,
        after=message_id - NEAR,
        before=message_id + NEAR,
        limit=MOST,
    )


def number_in(name: str) -> int | None:
    """The number in an id that the broker made; None if it made none like it."""
    try:
        number = int(name[-DIGITS:], 16)
    except ValueError:
        return None
    is_own = 0 < number < 1 << 63 and name == jms_id(number)
    return number if is_own else None


def by_work(ids: Sequence[int]) -> list[Neighbour]:
    """What was put and accepted together with a message. One query."""
    return sql.fetch("related_by_work", Neighbour, ids=ids, limit=MOST)


def visible_among(ids: Collection[int], held: GrantedAuthorities) -> set[int]:
    """The messages that an actor may see: on a queue that they are or were on; if none
    is known, by their address. Three queries, or none."""
    if held.everywhere("inquire") or not ids:
        return set(ids)
    pairs = sql.run("queues_of_messages", {"ids": sorted(ids)})
    queues = Queue.objects.filter(pk__in={queue for _, queue in pairs})
    names = dict(queues.values_list("pk", "name"))
    places = [(one, names[queue]) for one, queue in pairs if queue in names]
    rest = set(ids) - {one for one, _ in places}
    places += Message.objects.filter(pk__in=rest).values_list("pk", "address")
    return {one for one, name in places if held.on("inquire", name)}
