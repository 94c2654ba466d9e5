"""Take the entries of items from their queues, and put them back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from broker import sql
from broker.models import Place
from broker.queueing import notifications
from broker.queueing.transfer import Record, TakenEntry, columns


@dataclass(slots=True)
class Taken(TakenEntry):
    """An entry in the state in which it was taken."""

    due_at: datetime | None = None  # None: the entry was ready

    @property
    def place(self) -> Place:
        return Place.READY if self.due_at is None else Place.DELAYED


@dataclass(slots=True)
class Found:
    """An entry in its present state."""

    id: int  # id of the entry's message
    place: int
    priority: int
    backout_count: int
    delivery_count: int
    expires_at: datetime | None
    expired: bool


@dataclass(frozen=True, slots=True)
class Reach:
    """Access to the entries of one queue at one moment."""

    queue_id: int
    now: datetime | None
    expired_too: bool = False

    def ready(self, ids: Sequence[int]) -> list[Taken]:
        return self.take("take_ready", ids)

    def delayed(self, ids: Sequence[int]) -> list[Taken]:
        return self.take("take_delayed", ids)

    def take(self, statement: str, ids: Sequence[int]) -> list[Taken]:
        return sql.fetch(
            statement,
            Taken,
            queue_id=self.queue_id,
            ids=list(ids),
            expired_too=self.expired_too,
            now=self.now,
        )

    def find(self, ids: Sequence[int]) -> list[Found]:
        """The entries with these ids that are on the queue now."""
        return sql.fetch(
            "find_entries",
            Found,
            queue_id=self.queue_id,
            ids=list(ids),
            now=self.now,
        )


def reinstate(entries: Sequence[Taken], record: Record) -> None:
    """Put entries back on their queues: ready entries at the head, others delayed."""
    if not entries:
        return
    parameters = record.parameters()
    del parameters["uow"]
    ready = sql.fetch(
        "reinstate",
        int,
        **columns(entries),
        delivery_counts=[entry.delivery_count for entry in entries],
        expiries=[entry.expires_at for entry in entries],
        dues=[entry.due_at for entry in entries],
        **parameters,
    )
    notifications.announce_on_commit(set(ready))
