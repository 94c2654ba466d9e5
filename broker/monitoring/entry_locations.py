"""Where the entries of a message are, and who may consume them: rows of queries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from broker.monitoring.outcomes import Explanation


@dataclass(frozen=True, slots=True)
class EntryLocation:
    """An entry of the message, with facts about its queue and its holder."""

    queue_id: int
    queue: str  # name of the queue; empty if the queue is gone
    place: int
    at: datetime  # time at which these facts were read
    priority: int
    backout_count: int
    due_at: datetime | None
    expires_at: datetime | None
    is_paused: bool
    stopped: str | None  # reason why ConnectionConsumers of the queue get nothing
    origin_queue: str | None  # only set for a dead letter
    cause: str | None  # only set for a dead letter
    earlier: int  # entries that a get takes before it, counted to ``COUNTED`` + 1
    uow: int | None
    xid: str | None  # id of a prepared transaction
    started_at: datetime | None
    deadline: datetime | None
    holder: str | None
    is_held: bool  # held by an open database transaction, or by a process that is alive

    @property
    def label(self) -> str:
        return self.queue or f"queue {self.queue_id} (gone)"

    def say(self, code: str, sentence: str, remedy: str, **details: Any) -> Explanation:
        told = {name: value for name, value in details.items() if value is not None}
        return Explanation(self.queue, code, sentence, remedy, told)


@dataclass(frozen=True, slots=True)
class Consumer:
    """A known consumer of a queue."""

    queue_id: int  # 0: a dispatcher, whose queues are not known
    handler: str  # name of the handler; empty if only the process is known
    selector: str
    retains_unwanted: bool
    process: str
