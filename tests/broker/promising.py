"""Units of work that are prepared, as tests begin with them."""

from __future__ import annotations

from broker.models import Place, Queue
from broker.queueing.browse import browse
from broker.transactions.prepared import prepare
from broker.transactions.scope import UnitOfWork
from tests.make import NOON


def promise(xid: str = "branch 1", *, entries: int = 2) -> UnitOfWork:
    """A unit of work that got entries, put an answer, and is prepared."""
    work = UnitOfWork(coordinated=True, now=NOON)
    if entries:
        assert len(work.get("orders", entries)) == entries
    work.put("answers", b"done", priority=7, properties={"for": "orders"})
    prepare(work, xid)
    return work


def ready(queue: Queue) -> int:
    return len(browse(queue.pk, Place.READY))
