"""Transactions of one connection: acknowledgements and sends in one commit."""

from __future__ import annotations

from collections.abc import Callable

from stomp.utils import Frame

from broker.bridges.providers.stomp import refusals
from broker.bridges.providers.stomp.connection import StompConnection
from broker.errors.bridges import CommitInDoubt, Hold, ProviderLost, SendRefused


class Transaction:
    """A transaction at the server."""

    def __init__(self, connection: StompConnection) -> None:
        """Begin the transaction.

        Raises:
            ProviderLost: the connection broke.
        """
        self.connection = connection
        self.headers = {"transaction": f"t{next(connection.numbers)}"}
        # Functions to call after a rollback.
        self.undoing: list[Callable[[], None]] = []
        connection.forget_error()
        connection.tell("BEGIN", self.headers)

    def commit(self) -> None:
        """Commit it.

        Raises:
            ProviderLost: the connection was lost before; it is rolled back.
            SendRefused: something in it was refused; it is rolled back, and the
                connection closed.
            CommitInDoubt: the connection broke after the COMMIT was sent.
        """
        connection = self.connection
        while connection.take():
            pass
        connection.check()
        if connection.error is not None:
            raise self.not_committed(connection.error)
        try:
            answer = self.answer_to_commit()
        except ProviderLost as lost:
            why = f"{lost.why} Whether the transaction was committed is not known."
            raise CommitInDoubt(connection.options.name, why) from lost
        if answer.cmd != "RECEIPT":
            raise self.not_committed(connection.last_error() or answer)

    def answer_to_commit(self) -> Frame:
        """Wait for the server's answer to COMMIT.

        Raises:
            ProviderLost: the connection broke.
        """
        (answer,) = self.connection.wait([self.connection.ask("COMMIT", self.headers)])
        return answer

    def not_committed(self, error: Frame) -> SendRefused:
        """The error for a refused commit; this closes the connection.

        After a failed COMMIT, ActiveMQ accepts no acknowledgement of its messages; and
        a late ERROR could be taken for an error of the next transaction.
        """
        options = self.connection.options
        said = refusals.error_text(error)
        self.connection.drop("a transaction was not committed")
        why = f"{options.place} did not commit the transaction: {said}"
        return SendRefused(options.name, why, Hold.from_text(said))

    def roll_back(self) -> None:
        """Roll back the transaction.

        Raises:
            ProviderLost: the connection broke; the server then rolls back.
        """
        self.connection.wait([self.connection.ask("ABORT", self.headers)])
        for put_back in self.undoing:
            put_back()
