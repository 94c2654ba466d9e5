"""Publishes changed numbers to open pages, once a second for all of them.

The updates may be lost: every number can be read again over HTTP. While no page is
open, numbers are counted every five seconds, so that the next page knows the rates.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import connection

from broker.queueing import journal
from broker.security import authorities
from broker.sql.fencing import short_transaction
from dashboards.live import attention, depths, link_status, samples, trends

# the Redis key of the last published numbers, by queue id
PUBLISHED = "dashboards:published:16"  # 16: the number of fields of a queue
OF_ALL = ("groups", "links")  # keys of published numbers that are not of one queue
# the Redis key of the ids of changed queues that were not sent yet
OWED = "dashboards:owed"
# the Redis key that exists while a page is open
WATCHED = "dashboards:watched"
WATCHED_S = 15  # longer than the time between two calls of note_page
UNWATCHED_EVERY_S = 5  # less than samples.STALE_S
# The most queues that are sent at once. To render more would take longer than a short
# transaction may.
MOST = 500
PUBLISHER_LOCK = 0x4C495645  # one publisher at a time, whatever the number of workers


def note_page() -> None:
    """Note that a page is open. It calls this every few seconds.

    Raises:
        redis.RedisError: Redis cannot be reached.
    """
    samples.memory().set(WATCHED, 1, ex=WATCHED_S)


def is_watched() -> bool:
    """Whether a page is open.

    Raises:
        redis.RedisError: Redis cannot be reached.
    """
    return bool(samples.memory().exists(WATCHED))


def is_due() -> bool:
    """Whether to publish in this second.

    Raises:
        redis.RedisError: Redis cannot be reached.
    """
    return is_watched() or samples.is_late(UNWATCHED_EVERY_S)


@short_transaction()
def publish(now: datetime | None = None) -> None:
    """Query the numbers, compare them with the last ones, and publish the difference.

    If no page is open, the difference is not rendered. Returns at once if another
    process is publishing.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [PUBLISHER_LOCK])
        if cursor.fetchone() != (True,):
            return
    counts = journal.depths()
    every = depths.queues(counts=counts, now=now)
    samples.remember(counts, now)
    trends.remember(counts, now)
    link_status.remember(now)
    rows = {str(queue.queue_id): json.dumps(queue) for queue in every}
    groups = attention.count()
    rows["groups"] = str(groups)
    rows["links"] = json.dumps(link_status.renew())
    before = json.loads(samples.memory().get(PUBLISHED) or "{}")
    owed = set(json.loads(samples.memory().get(OWED) or "[]"))
    if rows == before and not owed:
        return
    changed = [
        q
        for q in every
        if q.queue_id in owed or rows[str(q.queue_id)] != before.get(str(q.queue_id))
    ]
    changed.sort(key=lambda queue: queue.queue_id not in owed)
    later = [queue.queue_id for queue in changed[MOST:]]
    # Stored first, because the sockets of pages read these numbers after the send.
    samples.memory().mset({PUBLISHED: json.dumps(rows), OWED: json.dumps(later)})
    if is_watched():
        send(depths.sums(every, groups=groups), depths.parts(changed[:MOST]))


def part(held: authorities.GrantedAuthorities, shown: Collection[int]) -> str:
    """The part of the last numbers that a user may see.

    Args:
        held: the user's authorities.
        shown: the ids of queues with numbers of their own.

    Raises:
        redis.RedisError: Redis cannot be reached.
    """
    rows = json.loads(samples.memory().get(PUBLISHED) or "{}")
    every = [
        depths.QueueDepth(*json.loads(row))
        for key, row in rows.items()
        if key not in OF_ALL
    ]
    seen = [queue for queue in every if held.on("inquire", queue.name)]
    return depths.html(seen, [q for q in seen if q.queue_id in shown], held=held)


def send(sums: str, parts: Mapping[str, str] | None = None) -> None:
    """Send rendered numbers, by queue id, to all open pages."""
    layer = get_channel_layer()
    assert layer is not None, "CHANNEL_LAYERS is not set"
    async_to_sync(layer.group_send)(
        depths.GROUP,
        {"type": "depths.changed", "sums": sums, "parts": dict(parts or {})},
    )
