"""Gets of messages with a given MsgId, CorrelId or GroupId.

Most messages have no id of their own in the database: it is made from the broker's
number. So the ids are compared here, message by message, in the order of gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

from broker.formats.mq.descriptor import Descriptor
from broker.models import Message, Place
from broker.queueing.browse import Browsed, as_delivery, browse
from broker.queueing.get import Delivery, Lanes

PAGE = 50  # entries in one read without a match
SCAN = 500  # entries in one read if few of them may match


@dataclass(frozen=True, slots=True)
class Match:
    """The ids that a message must have, of 24 bytes each. None, and zeros as IBM MQ has
    it, match every message.

    Source:
        IBM MQ, "MatchOptions (MQLONG)": MQMO_MATCH_MSG_ID, _CORREL_ID and _GROUP_ID.
    """

    msg_id: bytes | None = None
    correl_id: bytes | None = None
    group_id: bytes | None = None

    def fits(self, descriptor: Descriptor) -> bool:
        return all(
            wanted is None or not any(wanted) or wanted == getattr(descriptor, name)
            for name, wanted in (
                ("msg_id", self.msg_id),
                ("correl_id", self.correl_id),
                ("group_id", self.group_id),
            )
        )


@dataclass(frozen=True, slots=True)
class IdSearch:
    """Gets of matching messages from one queue, as ``selective_get.Search``."""

    queue_id: int
    match: Match

    def get(
        self,
        take: Callable[[Lanes, int], list[Delivery]],
        limit: int = 1,
        *,
        now: datetime | None = None,  # not used: ``take`` skips expired messages
    ) -> list[Delivery]:
        got: list[Delivery] = []
        for entry in matching(self.queue_id, self.match):
            only = Lanes([entry.priority], [entry.pos], [entry.pos + 1])
            got += take(only, 1)
            if len(got) == limit:
                break
        return got


def matching(
    queue_id: int, match: Match | None, *, after: str = ""
) -> Iterator[Browsed]:
    """The ready entries of a queue that match, after a cursor, in the order of gets."""
    limit = PAGE if match is None else SCAN
    while entries := browse(queue_id, Place.READY, after=after, limit=limit):
        yield from entries if match is None else fitting(entries, match)
        after = entries[-1].cursor


def fitting(entries: Sequence[Browsed], match: Match) -> Iterator[Browsed]:
    messages = Message.objects.defer("body", "headers", "envelope")
    rows = messages.in_bulk([entry.message_id for entry in entries])
    for entry in entries:
        row = rows.get(entry.message_id)
        if row is None:
            continue
        row.body, row.headers, row.envelope = b"", None, None
        delivery = as_delivery(
            row,
            queue_id=0,
            backout_count=entry.backout_count,
            priority=entry.priority,
            expires_at=entry.expires_at,
            pos=entry.pos,
        )
        name = settings.BROKER_NAME
        if match.fits(Descriptor.of(delivery, broker_name=name, now=row.put_at)):
            yield entry
