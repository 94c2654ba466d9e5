"""Errors of tasks of Django's framework."""

from __future__ import annotations

from broker.errors import BrokerError


class NoTask(BrokerError):
    """A message on a queue of tasks is not a task that can be run."""

    code = "no-task"

    why: str

    def __str__(self) -> str:
        return f"This message is no task that can be run: {self.why}."


class NotJson(BrokerError, ValueError):
    """What a task is called with, or returns, cannot be kept; it is not run (again)."""

    code = "not-json"

    what: str
    why: str

    def __str__(self) -> str:
        return (
            f"{self.what} must be JSON: {self.why}. Use None or text for a number that"
            " is none, and base64 for bytes."
        )


class ReturnsTooMuch(BrokerError):
    """A task returned more than may be kept; it is not run again."""

    code = "returns-too-much"

    size: int
    most: int

    def __str__(self) -> str:
        return (
            f"The task returned {self.size:,} bytes of JSON; {self.most:,} are allowed."
            " Return an id of what it made, or raise MAX_RETURN_BYTES in TASKS."
        )


class OtherTransaction(BrokerError):
    """A task cannot be part of the caller's transaction; it was not enqueued."""

    code = "other-transaction"

    database: str

    def __str__(self) -> str:
        return (
            f"The transaction is one of the database {self.database!r}, and tasks are"
            " in the default one: if it was rolled back, the task would run. Enqueue"
            " after it, by transaction.on_commit, or in a transaction of the default"
            " database."
        )
