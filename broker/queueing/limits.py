"""Whether a queue accepts a put.

Only *guarded* queues can refuse: put-inhibited, limited, or with a selector. Puts to
other queues do not check.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from broker import sql
from broker.errors import BrokerError
from broker.errors.queues import MessageTooBigForQueue, PutInhibited, QueueFull
from broker.models import Queue


def refusal(queue: Queue, sizes_bytes: Sequence[int]) -> BrokerError | None:
    """The reason why a queue refuses messages of these sizes; None if it accepts them.
    Nothing is changed.

    The depth of a limited queue is exact only while the queue is locked (``lock``).
    """
    if queue.put_inhibited:
        return PutInhibited(queue.name)
    limit = queue.max_message_bytes
    if limit is not None and max(sizes_bytes, default=0) > limit:
        return MessageTooBigForQueue(queue.name, max(sizes_bytes), limit)
    if queue.max_depth is not None:
        (depth,) = sql.fetch_one("depth", queue_id=queue.pk)
        if depth + len(sizes_bytes) > queue.max_depth:
            return QueueFull(queue.name, queue.max_depth)
    return None


def room(queue: Queue) -> int:
    """How many more messages a limited queue may hold; see ``refusal``."""
    (depth,) = sql.fetch_one("depth", queue_id=queue.pk)
    return max((queue.max_depth or 0) - int(depth), 0)


def refusal_now(queue: Queue, size_bytes: int) -> BrokerError | None:
    """Like ``refusal``, for one message, but exact: a guarded queue is locked."""
    for locked in lock([queue]):
        return refusal(locked, [size_bytes])
    return None


def preview_refusal(queue: Queue, size_bytes: int) -> BrokerError | None:
    """Like ``refusal``, without a lock, for previews."""
    return refusal(queue, [size_bytes]) if queue.guarded else None


def lock(queues: Iterable[Queue]) -> list[Queue]:
    """Lock the guarded queues among these queues against other puts, and read them."""
    guarded = Queue.objects.filter(pk__in=[queue.pk for queue in queues], guarded=True)
    return list(guarded.order_by("pk").select_for_update(no_key=True))
