"""Connections: sessions of one user and client id."""

from __future__ import annotations

from datetime import datetime
from types import TracebackType
from typing import Self

from broker.client.jms.sessions import Session, SessionMode
from broker.security.authorities import Principal
from broker.transactions import branches
from broker.transactions.prepared import (
    DECIDED,
    PreparedUnitOfWork,
    back_out_prepared,
    commit_prepared,
)
from broker.transactions.scope import describe


def connect(
    user: Principal = None, client_id: str = "", *, now: datetime | None = None
) -> Connection:
    """Open a connection; close it, or use it as a context manager.

    Args:
        user: the user whose authorities apply; None is this process, which has all.
        client_id: the client id, for durable subscriptions and the journal.
        now: the time, for tests; by default that of the database's clock.
    """
    return Connection(user, client_id, now=now)


class Connection:
    """A client's connection, with its sessions. Its methods may be called in any
    thread."""

    def __init__(
        self, user: Principal, client_id: str, *, now: datetime | None = None
    ) -> None:
        self.user = user
        self.client_id = client_id
        self.now = now
        self.sessions: list[Session] = []
        self.closed = False

    @property
    def actor(self) -> str:
        """The actor in the journal."""
        return self.client_id or (self.user.get_username() if self.user else "")

    def session(
        self,
        mode: SessionMode = SessionMode.AUTO,
        *,
        prefetch: int = 1,
        count_unacked_on_close: bool = True,
    ) -> Session:
        """Begin a session.

        Args:
            mode: what ends a delivery.
            prefetch: messages that a consumer gets at a time. Unread ones are given
                back uncounted when the unit of work ends.
            count_unacked_on_close: whether closing the session counts a message as
                backed out that was received, but neither accepted nor backed out. JMS
                counts it; ActiveMQ Artemis' own clients do not.
        """
        if self.closed:
            raise ValueError("The connection is closed; make another one.")
        session = Session(
            self,
            mode,
            prefetch=prefetch,
            count_unacked_on_close=count_unacked_on_close,
        )
        self.sessions.append(session)
        return session

    def branches(self) -> list[PreparedUnitOfWork]:
        """The branches that this user's sessions prepared and that wait for a decision,
        oldest first. After a crash, their coordinator decides on each."""
        return branches.prepared_by(self.user)

    def commit_branch(self, xid: str) -> None:
        """Commit a prepared branch: accept what it received and send what it put.

        Raises:
            NoSuchXid: it has ended, or was never prepared.
            BrokerError: a queue refuses a message now; the branch stays prepared.
        """
        stored = branches.stored_as(self.user, xid)
        commit_prepared(stored, coordinator=self.actor, now=self.now)

    def rollback_branch(self, xid: str, error: str = "") -> None:
        """Back out a prepared branch: its messages are redelivered, its puts not sent.

        Args:
            xid: its id, as given to ``Session.prepare``.
            error: what went wrong, for the operator.

        Raises:
            NoSuchXid: it has ended, or was never prepared.
        """
        stored = branches.stored_as(self.user, xid)
        error = error or DECIDED
        back_out_prepared(stored, error=error, coordinator=self.actor, now=self.now)

    def close(self, error: str = "") -> None:
        """Close every session, as ``Session.close``."""
        self.closed = True
        for session in list(self.sessions):
            session.close(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close(describe(error) if error is not None else "")
