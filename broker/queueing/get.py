"""Claim ready entries for a unit of work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection

from broker import sql
from broker.queueing.low_watermarks import FLOORS

# Two ranges of positions for each priority: what came back, and what is new; the second
# begins at the lane's floor.
LOWEST, NEW, HIGHEST = -(2**63), 0, 2**63 - 1
# Messages are partitioned by id, and to open a partition costs as much as to read a few
# messages of it; so a get opens those around the message that its queue gave last.
NEAR = 2**18
OF_MESSAGE = (
    *("address", "body", "content_type", "properties", "client_message_id"),
    *("correlation_id", "reply_to", "subject", "group_id", "producer", "put_at"),
    *("durable", "descriptor", "headers", "envelope"),
)
address_of = attrgetter("address")  # None where the message was not near
last_ids: dict[str, int] = {}  # of the message that each queue gave last
PRIORITIES = [priority for priority in range(9, -1, -1) for _ in range(2)]
HIGHS = [NEW, HIGHEST] * 10


class Lanes(NamedTuple):
    """Ranges of positions to search, in the order of search."""

    priorities: list[int]
    lows: list[int]
    highs: list[int]  # exclusive


@dataclass(slots=True)  # not frozen, which takes five times as long to make
class Delivery:
    """One delivery of an entry to a consumer, within a unit of work."""

    uow: int
    queue_id: int
    message_id: int  # the broker's number; ``client_message_id`` is the sender's
    backout_count: int  # deliveries of this entry that were backed out
    delivery_count: int  # deliveries in all, this one included
    priority: int
    address: str
    body: bytes
    content_type: str
    properties: dict[str, Any]
    client_message_id: str | None
    correlation_id: str | None
    reply_to: str | None
    subject: str | None
    group_id: str | None
    producer: str
    put_at: datetime
    expires_at: datetime | None
    pos: int  # where it stood in its lane
    durable: bool
    descriptor: dict[str, Any] | None  # fields of IBM's MQMD, where they differ
    headers: bytes | None  # IBM's, chained, before the body
    envelope: bytes | None = None  # what else AMQP sent; see ``broker.amqp.messages``


def get(
    queue: str,
    *,
    owner: int,
    uow: int | None = None,
    claim_id: int = 0,
    limit: int = 1,
    lanes: Lanes | None = None,
    pooled: bool = False,
    actor: str = "",
    now: datetime | None = None,
) -> list[Delivery]:
    """Claim up to ``limit`` ready entries of a queue; without ``uow``, begin one.

    Entries come by priority, highest first, then by arrival. An empty list means: no
    entry is ready, the queue is paused, or the unit of work has ended (``LockLost``).

    Args:
        queue: its name.
        owner: of this process (``processes.current``).
        uow: the unit of work that takes them; None begins a new one.
        claim_id: from where this unit of work numbers its claims; each takes one for
            every 200 entries.
        limit: entries at most.
        lanes: where to look; None is the whole queue.
        pooled: whether a ConnectionConsumer asks; a stopped queue gives it nothing.
        actor: for the journal.
        now: when; the database's clock when not given.
    """
    floors, settled = FLOORS.of(queue), FLOORS.settled
    last_id = last_ids.get(queue)
    everywhere = [low for floor in floors for low in (LOWEST, floor)]
    taker: dict[str, Any] = {
        "queue": queue,
        "owner": owner,
        "claim_id": claim_id,
        "pooled": pooled,
        "actor": actor,
        "now": now,
        "timeout": timedelta(seconds=settings.BROKER_TRANSACTION_TIMEOUT_S),
        "synchronous_commit": commits_how(),
        "near_from": LOWEST if last_id is None else last_id - NEAR,
        "near_to": HIGHEST if last_id is None else last_id + NEAR,
    }
    if limit == 1 and uow is None and lanes is None:
        got = sql.fetch("get_one", Delivery, lows=everywhere, **taker)
    else:
        look_at = lanes or Lanes(PRIORITIES, everywhere, HIGHS)
        got = sql.fetch(
            "get", Delivery, uow=uow, limit=limit, **taker, **look_at._asdict()
        )
    if got:
        last_ids[queue] = got[-1].message_id
    if None in map(address_of, got):
        got = with_far(got)
    # Or nobody knows if it has looked: the queue may be paused.
    if got and lanes is None:
        found = [(delivery.priority, delivery.pos) for delivery in got]
        FLOORS.raise_to(queue, settled, found, whole=len(got) < limit)
    return got


def fitting(queue: str, *, limit: int, most_bytes: int) -> int:
    """How many of the next entries to claim at once: at most ``limit``, and not beyond
    the entry whose body reaches ``most_bytes`` in all.

    Nothing is locked: another consumer may claim these entries meanwhile.
    """
    last_id = last_ids.get(queue)
    (count,) = sql.fetch_one(
        "fitting",
        queue=queue,
        priorities=PRIORITIES,
        lows=[low for floor in FLOORS.of(queue) for low in (LOWEST, floor)],
        highs=HIGHS,
        limit=limit,
        most_bytes=most_bytes,
        near_from=LOWEST if last_id is None else last_id - NEAR,
        near_to=HIGHEST if last_id is None else last_id + NEAR,
    )
    assert isinstance(count, int)
    return count


def with_far(deliveries: Sequence[Delivery]) -> list[Delivery]:
    """Complete deliveries whose message is outside the id range of the get."""
    far = [one.message_id for one in deliveries if address_of(one) is None]
    messages = {one[0]: one[1:] for one in sql.run("messages_of", {"ids": far})}
    for delivery in deliveries:
        found = messages.get(delivery.message_id, ())
        for name, value in zip(OF_MESSAGE, found):  # noqa: B905  # or none
            setattr(delivery, name, value)
    return [one for one in deliveries if address_of(one) is not None]


def commits_how() -> str | None:
    """The ``synchronous_commit`` of the get's own transaction; None: as the server.

    A crash may lose a claim that was not synced. Its entries are then ready again, with
    the counts they had before. If counts must survive a crash, the get waits for the
    disk.

    Source:
        ActiveMQ Artemis, ``persist-delivery-count-before-delivery``.
    """
    persist: bool = settings.BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY
    return None if persist or connection.in_atomic_block else "off"
