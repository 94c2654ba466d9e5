"""The messages with the same sender's message id."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from broker import sql
from broker.monitoring.search import PATIENCE, patiently

STEP = 100_000  # number of messages that one statement reads
STEPS = 10
QUICK_S = 0.08  # seconds after which no further step begins
MOST = 20


@dataclass(frozen=True, slots=True)
class Incarnations:
    """Messages with the same sender's id."""

    message_ids: list[int]  # ids of the messages, the newest first
    goes_on: int  # the next search must read below this id; 0: the search is complete


def incarnations(client_message_id: str, *, before: int | None = None) -> Incarnations:
    """The messages with a sender's id, among the newest million: fewer if they take
    long to read.

    Args:
        client_message_id: the sender's message id.
        before: the number below which to search; from the newest when not given.

    Raises:
        SearchTooLong: the database took too long for one step.
    """
    found: list[int] = []
    began_s = monotonic()
    with patiently(PATIENCE):
        (last,) = sql.fetch_one("last_message")
        top = last if before is None else min(last, before - 1)
        for _ in range(STEPS):
            after = max(top - STEP, 0)
            rows = sql.run(
                "incarnations",
                {
                    "client_message_id": client_message_id,
                    "after": after,
                    "before": top,
                    "limit": MOST - len(found),
                },
            )
            found += [message_id for (message_id,) in rows]
            if len(found) == MOST:
                return Incarnations(found, found[-1])
            top = after
            if not top:
                return Incarnations(found, 0)
            if monotonic() - began_s > QUICK_S:
                break
    return Incarnations(found, top + 1)
