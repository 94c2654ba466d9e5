"""Get from a queue of another Backout, in transaction branches.

All messages that a subscription holds are in one branch, so that they can end together.
The branch ends when it is prepared or all its messages are settled; the next message
begins another.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from broker.amqp.messages import batches
from broker.bridges.providers.backout.calls import JSON, Answered, Calls, in_url
from broker.bridges.providers.interface import Destination, Lag, Received
from broker.errors import BrokerError
from broker.errors.bridges import AccessRefused, ProviderLost
from broker.formats import moments
from broker.queueing.store import NewMessage

MOST = 1000  # most messages in one request
# If the process of a link dies, its request still waits at the other broker, and may
# claim messages that nobody receives. So a request waits no longer than another process
# needs to take the link over.
LONGEST_WAIT_S = 2.0


class Handle(NamedTuple):
    """The data by which a held message can be settled."""

    branch: str
    id: int  # message number at the other broker


@dataclass(slots=True)
class Work:
    """Sends and acknowledgements of a session's open transaction."""

    # Prepared transaction that the next request commits first; empty: none.
    to_commit: str = ""
    is_open: bool = False
    puts: list[NewMessage] = field(default_factory=list)
    accepted: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def begin(self, *, is_open: bool) -> None:
        self.is_open = is_open
        self.puts = []
        self.accepted = defaultdict(list)

    def commit_first(self, calls: Calls) -> None:
        """Commit ``to_commit`` by a request of its own."""
        calls.decide(self.to_commit, "commit")
        self.to_commit = ""


class BackoutSubscription:
    """See ``interface.Subscription``.

    Args:
        calls: the connection to the other Backout.
        work: the session's open transaction.
        queue: the name of the queue.
        selector: only messages that match are received.
    """

    def __init__(self, calls: Calls, work: Work, queue: str, selector: str) -> None:
        self.calls = calls
        self.work = work
        self.queue = queue
        self.selector = selector
        self.consumer = calls.factory.client_id.replace("/", "_")[:100]
        self.branch: str | None = None
        self.held: set[int] = set()

    def begin(self) -> None:
        """Check that the queue exists; give back messages held by an earlier consumer
        of the same name.

        Raises:
            WrongFactory: there is no such queue, or the credential may not use it.
        """
        said = {"consumer": self.consumer}
        try:
            self.calls.json(f"queues/{in_url(self.queue)}/branches/give-back", said)
        except Answered as error:
            error.why = f"queue:{self.queue}: {error.why}"
            raise error.as_wrong() from error

    def receive(self, limit: int, wait_s: float) -> list[Received]:
        """See ``interface.Subscription``.

        Raises:
            ProviderLost: also if it has lost the messages that it held.
            WrongFactory: the queue is gone.
        """
        if not limit:
            return []  # a paused link; there is no connection to keep alive
        ends_s = time.monotonic() + wait_s
        while True:
            left_s = max(ends_s - time.monotonic(), 0)
            received = self.get(min(limit, MOST), min(left_s, LONGEST_WAIT_S))
            if received or left_s <= LONGEST_WAIT_S:
                return received

    def get(self, limit: int, wait_s: float) -> list[Received]:
        wanted = {
            "limit": limit,
            "wait_s": wait_s,
            "lease_s": self.calls.lease_s,
            "selector": self.selector,
            "consumer": self.consumer,
            "branch": self.branch,
        }
        path = f"queues/{in_url(self.queue)}/branch"
        if self.work.to_commit:
            wanted["commit"] = self.work.to_commit
        try:
            answer = self.calls.post(path, json.dumps(wanted).encode(), JSON)
        except Answered as error:
            # The broker may have refused the commit, not the get: send each by itself.
            if self.work.to_commit:
                self.work.commit_first(self.calls)
                return self.get(limit, wait_s)
            if self.branch is not None and error.refused.status in (404, 409):
                self.forget()
                raise error.as_lost() from error
            raise error.as_wrong() from error
        self.work.to_commit = ""
        return self.read(answer)

    def read(self, answer: bytes) -> list[Received]:
        """Decode an answer; from now on this subscription holds its messages."""
        try:
            batch = batches.opened(answer)
            branch = batch.head["branch"]
            found = [received(part, branch) for part in batch.parts]
        except (BrokerError, KeyError, TypeError, ValueError) as error:
            raise self.calls.lost(f"Its answer cannot be read: {error}") from error
        if found:
            self.branch = branch
            self.held.update(one.handle.id for one in found)
        return found

    def acknowledge(self, received: Sequence[Received]) -> None:
        """See ``interface.Subscription``."""
        for branch, ids in by_branch(received).items():
            self.check_held(branch, ids)
            if self.work.is_open:
                self.work.accepted[branch] += ids
            else:
                self.accept(branch, ids)

    def check_held(self, branch: str, ids: Iterable[int]) -> None:
        if branch != self.branch or not self.held.issuperset(ids):
            why = "The received messages are no longer held; they will be redelivered."
            raise self.calls.lost(why)

    def accept(
        self, branch: str, ids: list[int], puts: Sequence[NewMessage] = ()
    ) -> None:
        """Acknowledge and send in one request, all or nothing.

        Raises:
            Answered: the request was refused, and nothing was done.
        """
        body = batches.sealed(puts, {"accept": ids})
        try:
            self.calls.batch(f"branches/{branch}/accept", body)
        except Answered as error:
            if puts and error.refused.code != "lock-lost":
                raise
            self.forget()
            raise error.as_lost() from error
        self.let_go(ids)

    def release(self, received: Sequence[Received], *, failed: bool = False) -> None:
        """See ``interface.Subscription``. Messages not held any more are ignored."""
        for branch, ids in by_branch(received).items():
            if branch == self.branch:
                self.give_back([one for one in ids if one in self.held], failed=failed)

    def give_back(self, ids: list[int], *, failed: bool = False) -> None:
        if self.branch is None or not ids:
            return
        done = set(ids)
        accepted = self.work.accepted[self.branch]
        accepted[:] = [one for one in accepted if one not in done]
        for start in range(0, len(ids), MOST):
            these = ids[start : start + MOST]
            said = {"messages": these, "failed": failed, "at_once": failed}
            with suppress(Answered):  # the messages are already back on their queue
                self.calls.json(f"branches/{self.branch}/release", said)
        self.let_go(ids)

    def lag(self) -> Lag | None:
        """See ``interface.Subscription``. The age is that of the first message."""
        path = f"queues/{in_url(self.queue)}"
        try:
            state = self.calls.get(path)
            entries = self.calls.get(f"{path}/messages", limit="1")["entries"]
        except (Answered, AccessRefused):
            return None  # the credential may not browse
        oldest = [moments.parse(one["put_at"]) for one in entries]
        return Lag(state["ready"] + state["in_flight"], min(oldest, default=None))

    def close(self) -> None:
        """See ``interface.Subscription``."""
        accepted = self.work.accepted[self.branch] if self.branch else []
        with suppress(ProviderLost, AccessRefused):
            self.give_back(sorted(self.held.difference(accepted)))

    def let_go(self, ids: Iterable[int]) -> None:
        """Remove settled messages; after the last message of a branch, the branch
        ends."""
        self.held.difference_update(ids)
        if not self.held:
            self.branch = None

    def forget(self) -> None:
        """Note that the subscription holds no message any more."""
        self.branch = None
        self.held.clear()


def by_branch(received: Sequence[Received]) -> dict[str, list[int]]:
    """The ids of messages by branch, in order."""
    found: dict[str, list[int]] = defaultdict(list)
    for one in received:
        found[one.handle.branch].append(one.handle.id)
    return found


def received(part: batches.BatchPart, branch: str) -> Received:
    """Decode a received message."""
    more: dict[str, Any] = part.fields[batches.MORE]
    message = batches.unpacked(part)
    backouts = more.get("backout_count", 0)
    return Received(
        message,
        Handle(branch, more["id"]),
        Destination(message.address),
        message_id=message.message_id or more.get("name", ""),
        sent_at=moments.parse(more["put_at"]),
        redelivered=backouts > 0,
        delivery_count=backouts + 1,
    )
