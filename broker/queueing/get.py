"""Claim ready entries for a unit of work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import starmap
from operator import attrgetter
from typing import Any, NamedTuple

from django.conf import settings

from broker import sql
from broker.queueing.low_watermarks import FLOORS
from broker.sql.lines import database

# Two ranges of positions for each priority: returned entries, and new entries; the
# second range begins at the low watermark of the lane.
LOWEST, NEW, HIGHEST = -(2**63), 0, 2**63 - 1
CAME_BACK = 2**62  # the position of a returned entry is its id less this number
# Messages are partitioned by id, and opening a partition costs as much as reading a few
# of its messages; so a get opens only the partitions around the last message of its
# queue.
NEAR = 2**18
OF_MESSAGE = (
    *("address", "body", "content_type", "properties", "client_message_id"),
    *("correlation_id", "reply_to", "subject", "group_id", "producer", "put_at"),
    *("durable", "descriptor", "headers", "envelope"),
)
# The address of a delivery; None: the message is outside the partitions that the get
# opened, so its fields are still missing.
address_of = attrgetter("address")
# Id of the last message that each queue gave, by queue name.
last_ids: dict[str, int] = {}
PRIORITY, POSITION = 5, 18  # in the rows of a get
PRIORITIES = [priority for priority in range(9, -1, -1) for _ in range(2)]
HIGHS = [NEW, HIGHEST] * 10


class Lanes(NamedTuple):
    """Ranges of positions to search, in the order of search."""

    priorities: list[int]
    lows: list[int]
    highs: list[int]  # ends of the ranges, exclusive


class Next(NamedTuple):
    """What to get in the statement that ends a unit of work; it begins another one."""

    queue: str
    pooled: bool = False
    limit: int = 1  # the largest number of entries


@dataclass(slots=True)  # not frozen: creating a frozen object takes five times as long
class Delivery:
    """One delivery of an entry to a consumer, within a unit of work."""

    uow: int
    queue_id: int
    message_id: int  # the broker's number; ``client_message_id`` is the sender's
    backout_count: int  # deliveries of this entry that were backed out
    # Number of all deliveries of the entry, including this delivery.
    delivery_count: int
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
    pos: int  # position that the entry had in its lane
    durable: bool
    # Fields of IBM MQ's MQMD that differ from their defaults.
    descriptor: dict[str, Any] | None
    headers: bytes | None  # chain of IBM MQ headers before the body
    # Other sections of the AMQP message; see ``broker.amqp.messages``.
    envelope: bytes | None = None


# What a ``TakenEntry`` has of a delivery.
entry_of = attrgetter(
    *("queue_id", "message_id", "priority", "backout_count"),
    *("delivery_count", "expires_at"),
)


def get(
    queue: str,
    *,
    owner: int,
    uow: int | None = None,
    claim_id: int = 0,
    limit: int = 1,
    each: bool = False,
    lanes: Lanes | None = None,
    pooled: bool = False,
    ends: Mapping[str, Any] | None = None,
    actor: str = "",
    now: datetime | None = None,
) -> list[Delivery]:
    """Claim up to ``limit`` ready entries of a queue; without ``uow``, begin one.

    Entries come by priority, highest first, then by arrival. An empty list means: no
    entry is ready, the queue is paused, or the unit of work has ended (``LockLost``).

    Args:
        queue: name of the queue.
        owner: owner id of this process (``processes.current``).
        uow: the unit of work that claims the entries; None: begin a new one.
        claim_id: number of the first new claim in the unit of work; every 200 entries
            are one claim.
        limit: the largest number of entries.
        each: begin a unit of work with each of them; not with ``uow`` or ``lanes``.
        lanes: ranges of positions to search; None: the whole queue.
        pooled: whether a ConnectionConsumer gets; a stoppage ends its delivery.
        ends: units of work to accept in the same statement (``ending``); only for a
            get that begins one.
        actor: name that the journal records.
        now: the current time; the database's clock when not given.

    Raises:
        DataError: the unit of work cannot be accepted; nothing is claimed.
    """
    lows, settled = lows_of(queue), FLOORS.settled
    parameters = taking(Next(queue, pooled), owner) | {
        "claim_id": claim_id,
        "actor": actor,
        "now": now,
        "synchronous_commit": None if ends else commits_how(),
        **(ends or {}),
    }
    first = f"{statement_of(ends)}, " if ends else ""
    if each or (limit == 1 and uow is None and lanes is None):
        rows = sql.run(f"{first}get_each", parameters | {"lows": lows, "limit": limit})
        rows.sort(key=place_of)
    else:
        search = (lanes or Lanes(PRIORITIES, lows, HIGHS))._asdict()
        parameters |= search | {"uow": uow, "limit": limit}
        rows = sql.run(f"{first}get", parameters)
    return deliveries_of(rows, queue, settled, limit=limit, whole=lanes is None)


def ending(returned: Mapping[int, str | None], expected: int) -> dict[str, Any]:
    """Parameters of the statement that accepts units of work (``statement_of``).

    Args:
        returned: for each unit of work what the task of its message returned, as JSON;
            None: nothing.
        expected: the number of entries that all of them hold.
    """
    ends: dict[str, Any] = {"ended_uows": list(returned), "expected": expected}
    values = {uow: one for uow, one in returned.items() if one is not None}
    if values:
        ends |= {"returning": list(values), "values": list(values.values())}
    return ends


def statement_of(ends: Mapping[str, Any]) -> str:
    return "accept_returning" if "returning" in ends else "accept"


def get_after(
    first: str, parameters: Mapping[str, Any], then: Next, *, owner: int
) -> list[Delivery]:
    """Run a statement, and get the next entry by the same one.

    Args:
        first: name of the statement; nothing that it makes ready can come next.
        parameters: of it; its actor and its time are those of the get.
        then: what to get; one entry.
        owner: owner id of this process.
    """
    lows, settled = lows_of(then.queue), FLOORS.settled
    taker = taking(then, owner)
    asked = {**parameters, **taker, "lows": lows, "limit": 1}
    rows = sql.run(f"{first}, get_each", asked)
    return deliveries_of(rows, then.queue, settled, limit=1)


def taking(what: Next, owner: int) -> dict[str, Any]:
    """Parameters of a get, whose commit waits for the disk."""
    return {
        "queue": what.queue,
        "pooled": what.pooled,
        "owner": owner,
        "claim_id": 0,
        "timeout": timedelta(seconds=settings.BROKER_TRANSACTION_TIMEOUT_S),
        "synchronous_commit": None,
        **near(what.queue),
    }


def deliveries_of(
    rows: Sequence[tuple[Any, ...]],
    queue: str,
    settled: int,
    *,
    limit: int,
    whole: bool = True,
) -> list[Delivery]:
    """The deliveries of a get, which tell where the next one begins to search.

    Args:
        settled: the value of ``FLOORS.settled`` before the get.
        whole: whether it has searched the whole queue.
    """
    got = complete(queue, list(starmap(Delivery, rows)))
    # An empty result raises no floor: the queue may be paused, and was not searched.
    if got and whole:
        found = [(delivery.priority, delivery.pos) for delivery in got]
        FLOORS.raise_to(queue, settled, found, whole=len(got) < limit)
    return got


def fitting(queue: str, *, limit: int, most_bytes: int) -> int:
    """The number of next entries to claim at once: at most ``limit``, and no entry
    after the one with which the bodies reach ``most_bytes``.

    Nothing is locked: another consumer may claim these entries meanwhile.
    """
    (count,) = sql.fetch_one(
        "fitting",
        queue=queue,
        priorities=PRIORITIES,
        lows=lows_of(queue),
        highs=HIGHS,
        limit=limit,
        most_bytes=most_bytes,
        **near(queue),
    )
    assert isinstance(count, int)
    return count


def place_of(row: Sequence[Any]) -> tuple[int, int]:
    """What the rows of a get are sorted by: higher priorities first, then positions."""
    return -row[PRIORITY], row[POSITION]


def lows_of(queue: str) -> list[int]:
    """Where the search of each range begins."""
    return [low for floor in FLOORS.of(queue) for low in (LOWEST, floor)]


def near(queue: str) -> dict[str, int]:
    """The range of message ids whose partitions a get opens."""
    last_id = last_ids.get(queue)
    if last_id is None:
        return {"near_from": LOWEST, "near_to": HIGHEST}
    return {"near_from": last_id - NEAR, "near_to": last_id + NEAR}


def complete(queue: str, deliveries: list[Delivery]) -> list[Delivery]:
    """Note the last message of the queue, and read messages outside the id range of the
    get."""
    if deliveries:
        last_ids[queue] = deliveries[-1].message_id
    return with_far(deliveries) if None in map(address_of, deliveries) else deliveries


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
    """The value of ``synchronous_commit`` for the transaction of a get; None: the
    server's default.

    A claim that is not yet on disk is lost if PostgreSQL crashes: its entries are ready
    again, with their former counts. If counts must survive a crash, the get waits for
    the disk.

    Source:
        ActiveMQ Artemis, ``persist-delivery-count-before-delivery``.
    """
    persist: bool = settings.BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY
    return None if persist or database().in_atomic_block else "off"
