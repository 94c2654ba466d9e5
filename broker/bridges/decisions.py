"""The last decision of a link, and its commit at the other provider.

A batch is decided in this broker's transaction, with a row (``Branch``). The other
provider is told with the next request of the session, which saves a request and a
transaction for each batch; without a next batch it is told at once (``finish``). A
crash in between leaves the row, and the next run of the link tells it
(``ways.branches.recover``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from broker import sql
from broker.bridges.books import Outcome
from broker.bridges.providers.interface import Received, TwoPhaseSession
from broker.errors.bridges import ProviderError, ProviderLost
from broker.models import Branch, Link

UNSURE = "It has not confirmed the commit. The commit is sent again: {}"
Notice = Callable[[Sequence[Received], Outcome, str, str], None]


class Decisions:
    """The last decided transaction of a link whose row is still stored.

    Args:
        link: the link.
        session: its session with the other provider.
        notice: tells the dead message queues of messages in doubt.
    """

    def __init__(self, link: Link, session: TwoPhaseSession, notice: Notice) -> None:
        self.link = link
        self.session = session
        self.notice = notice
        self.xid = ""  # empty: no decision is stored
        self.received: Sequence[Received] = ()

    def decide(self, xid: str, messages: int) -> None:
        """Store the decision to commit at the other provider, in the open transaction.
        The row of the last decision is deleted, if the provider has confirmed it."""
        sql.fetch_one(
            "decide",
            xid=xid,
            link_id=self.link.pk,
            carried=messages,
            last=None if self.session.to_commit else self.xid,
        )

    def decided(self, xid: str, received: Sequence[Received]) -> None:
        """Let the session commit the transaction at the other provider, after the
        commit here."""
        self.xid, self.received = xid, received
        self.session.to_commit = xid

    def finish(self) -> None:
        """Tell the other provider now, if it has not confirmed the commit, and delete
        the row.

        Raises:
            ProviderLost: it does not answer; the commit is repeated when it is back.
        """
        if not self.xid:
            return
        try:
            if self.session.to_commit:
                self.session.commit_prepared(self.xid)
        except ProviderError as error:
            xid, self.xid = self.xid, ""
            received, self.received = self.received, ()
            self.session.to_commit = ""
            why = UNSURE.format(error.why)
            self.notice(received, Outcome.COMMIT_FAILURE, why, xid)
            raise ProviderLost(error.factory, error.why) from error
        Branch.objects.filter(xid=self.xid).delete()
        self.xid, self.received = "", ()
