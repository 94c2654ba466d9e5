"""A session with another Backout: sends and transactions.

In a transaction, sends and acknowledgements are collected here. The commit, or the
prepare, is one request with all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from broker.amqp.messages import batches
from broker.bridges.messages import copied
from broker.bridges.providers.backout.calls import Answered, Calls
from broker.bridges.providers.backout.subscribing import (
    MOST,
    BackoutSubscription,
    Work,
)
from broker.bridges.providers.interface import (
    Capability,
    Destination,
    Factory,
    ProviderSubscription,
)
from broker.errors import BrokerError
from broker.errors.bridges import (
    AccessRefused,
    CommitInDoubt,
    ProviderError,
    ProviderLost,
    SendRefused,
    WrongFactory,
)
from broker.formats.selectors.parsing import parse
from broker.queueing.store import NewMessage

# Most bytes of a request outside transactions; a larger message is sent alone.
MOST_BYTES = 4 * 2**20
NOTHING_THERE = ("no-such-address", "no-such-queue", "not-found")


class BackoutSession:
    """See ``interface.Session``."""

    capabilities = (
        Capability.TRANSACTIONS
        | Capability.TWO_PHASE
        | Capability.SELECTORS
        | Capability.LAG
    )

    def __init__(self, factory: Factory, calls: Calls) -> None:
        self.factory = factory
        self.calls = calls
        self.sent_ids: Sequence[str] = ()  # empty: messages keep their ids
        self.work = Work()
        self.subscriptions: list[BackoutSubscription] = []

    @property
    def to_commit(self) -> str:
        """See ``interface.TwoPhaseSession``."""
        return self.work.to_commit

    @to_commit.setter
    def to_commit(self, xid: str) -> None:
        self.work.to_commit = xid

    def subscribe(
        self,
        destination: Destination,
        *,
        selector: str = "",
        durable_name: str = "",
        prefetch: int = 1,
    ) -> ProviderSubscription:
        """See ``interface.Session``. Nothing is prefetched."""
        if destination.is_topic or durable_name:
            raise self.wrong(
                f"{destination}: A link can get from queues of another Backout, not"
                " from topics. Use the queue of a subscription to the topic there."
            )
        if selector:
            try:
                parse(selector)
            except BrokerError as error:
                raise self.wrong(str(error)) from error
        one = BackoutSubscription(self.calls, self.work, destination.name, selector)
        one.begin()
        self.subscriptions.append(one)
        return one

    def send(
        self, messages: Sequence[NewMessage], destination: Destination
    ) -> list[SendRefused | None]:
        """See ``interface.Session``."""
        name = destination.name
        to = [
            one if one.address == name else copied(one, address=name)
            for one in messages
        ]
        if self.work.is_open:
            self.work.puts += to
            return [None] * len(to)
        return [one for chunk in chunks(to) for one in self.put(chunk)]

    def put(self, chunk: Sequence[NewMessage]) -> list[SendRefused | None]:
        """Send messages; if a message is refused, send each message alone.

        Raises:
            WrongFactory: there is no such address.
        """
        try:
            self.calls.batch("branches/put", batches.sealed(chunk))
        except Answered as error:
            if error.refused.code in NOTHING_THERE:
                raise error.as_wrong() from error
            if len(chunk) == 1:
                return [error.as_send_refused()]
            return [outcome for one in chunk for outcome in self.put([one])]
        return [None] * len(chunk)

    def begin(self) -> None:
        """See ``interface.Session``."""
        self.work.begin(is_open=True)

    def commit(self) -> None:
        """See ``interface.Session``."""
        try:
            self.end_at_once()
        except Answered as error:
            raise self.undone(error) from error
        except ProviderLost as error:
            self.work.begin(is_open=False)
            raise CommitInDoubt(self.factory.name, error.why) from error
        self.work.begin(is_open=False)

    def end_at_once(self) -> None:
        holder, ids = self.accepting()
        if holder is not None and holder.branch is not None:
            holder.accept(holder.branch, ids, self.work.puts)
        elif self.work.puts:
            self.calls.batch("branches/put", batches.sealed(self.work.puts))

    def accepting(self) -> tuple[BackoutSubscription | None, list[int]]:
        """The subscription with acknowledgements in this transaction, and their ids.

        Raises:
            SendRefused: there are several subscriptions; it is rolled back.
            ProviderLost: the acknowledged messages are not held any more.
        """
        accepted = {branch: ids for branch, ids in self.work.accepted.items() if ids}
        if not accepted:
            return None, []
        if len(accepted) > 1:
            self.roll_back()
            why = "A transaction can acknowledge messages of one subscription only."
            raise SendRefused(self.factory.name, why)
        ((branch, ids),) = accepted.items()
        for one in self.subscriptions:
            if one.branch == branch:
                return one, ids
        self.work.begin(is_open=False)
        raise self.calls.lost("The acknowledged messages are no longer held.")

    def undone(self, error: Answered) -> ProviderError:
        """Roll back a refused transaction; return the error for the link."""
        with suppress(ProviderLost, AccessRefused):
            self.roll_back()
        if error.refused.code == "lock-lost":
            return error.as_lost()
        if error.refused.code in NOTHING_THERE:
            return error.as_wrong()
        return error.as_send_refused()

    def roll_back(self) -> None:
        """See ``interface.Session``. Received messages return to their places,
        uncounted, as they did not cause the rollback."""
        self.work.begin(is_open=False)
        for one in self.subscriptions:
            with suppress(ProviderLost, AccessRefused):
                one.give_back(sorted(one.held))
            one.forget()

    def prepare(self, xid: str) -> None:
        """See ``interface.Session``. Messages not acknowledged are given back.

        Raises:
            WrongFactory: there is no such address, or the xid is invalid.
        """
        holder, ids = self.accepting()
        where, head = "branches/prepare", {}
        if holder is not None:
            where, head = f"branches/{holder.branch}/prepare", {"accept": ids}
        try:
            self.prepare_at(where, batches.sealed(self.work.puts, head), xid)
        except Answered as error:
            raise self.undone(error) from error
        if holder is not None:
            holder.forget()
        self.work.begin(is_open=False)

    def prepare_at(self, where: str, body: bytes, xid: str) -> None:
        """Commit ``to_commit`` and prepare, in one request. If it is refused, it may be
        the commit that is refused; so both are asked again, each alone.

        Raises:
            Answered: the prepare is refused.
            ProviderLost: also if the commit is refused.
        """
        if self.to_commit:
            try:
                self.calls.batch(where, body, xid=xid, commit=self.to_commit)
            except Answered:
                self.work.commit_first(self.calls)
            else:
                self.to_commit = ""
                return
        self.calls.batch(where, body, xid=xid)

    def commit_prepared(self, xid: str) -> None:
        """See ``interface.Session``.

        Raises:
            ProviderLost: also if the other side refuses the commit, as when a queue is
                full now. It stays prepared, and is committed by a later attempt once
                the cause is corrected there.
        """
        self.calls.decide(xid, "commit")
        if self.to_commit == xid:
            self.to_commit = ""

    def roll_back_prepared(self, xid: str) -> None:
        """See ``interface.Session``. Received messages return to their places,
        uncounted."""
        self.calls.decide(xid, "back-out", failed=False)

    def in_doubt(self, prefix: str) -> list[str]:
        """See ``interface.Session``."""
        try:
            xids: list[str] = self.calls.get("branches", prefix=prefix)["xids"]
        except Answered as error:
            raise self.wrong(
                f"{self.factory.url} has no transaction branches. Use the same version"
                " there."
            ) from error
        return xids

    def close(self) -> None:
        """See ``interface.Session``."""
        for one in self.subscriptions:
            one.close()
        self.subscriptions.clear()
        self.calls.close()

    def wrong(self, why: str) -> WrongFactory:
        return WrongFactory(self.factory.name, why)


def chunks(messages: Sequence[NewMessage]) -> Iterator[Sequence[NewMessage]]:
    """Split messages into runs for one request each, in order."""
    start, size = 0, 0
    for place, message in enumerate(messages):
        size += message.size_bytes
        if place > start and (size > MOST_BYTES or place - start == MOST):
            yield messages[start:place]
            start, size = place, message.size_bytes
    if start < len(messages):
        yield messages[start:]
