"""Whether a queue takes what is to be put on it.

Only *guarded* queues have anything to say: those that are put-inhibited, limited, or
choose by a selector. The others are put to without a look.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from broker import sql
from broker.errors import BrokerError
from broker.errors.queues import MessageTooBigForQueue, PutInhibited, QueueFull
from broker.models import Queue


def refusal(queue: Queue, sizes_bytes: Sequence[int]) -> BrokerError | None:
    """Why a queue cannot take messages of these sizes, or None; nothing is changed.

    Of a limited queue the depth is exact only for who has locked it (``lock``).
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


def refusal_now(queue: Queue, size_bytes: int) -> BrokerError | None:
    """The same for one message, exactly: the queue is locked if it is guarded."""
    for locked in lock([queue]):
        return refusal(locked, [size_bytes])
    return None


def seen_refusal(queue: Queue, size_bytes: int) -> BrokerError | None:
    """The same as things are now, for who only looks: nothing is locked."""
    return refusal(queue, [size_bytes]) if queue.guarded else None


def lock(queues: Iterable[Queue]) -> list[Queue]:
    """The guarded queues among these as they are now; no other put comes between."""
    guarded = Queue.objects.filter(pk__in=[queue.pk for queue in queues], guarded=True)
    return list(guarded.order_by("pk").select_for_update(no_key=True))
