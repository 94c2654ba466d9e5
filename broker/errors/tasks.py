"""Errors of tasks of Django's framework."""

from __future__ import annotations

from broker.errors import BrokerError


class NoTask(BrokerError):
    """A message on a queue of tasks is not a task that can be run."""

    code = "no-task"

    why: str

    sentence = "This message is no task that can be run: {why}."


class NotJson(BrokerError, ValueError):
    """What a task is called with, or returns, cannot be kept; it is not run (again)."""

    code = "not-json"

    what: str
    why: str

    sentence = (
        "{what} must be JSON: {why}. Use None or text for a number that is none, and"
        " base64 for bytes."
    )


class ReturnsTooMuch(BrokerError):
    """A task returned more than may be kept; it is not run again."""

    code = "returns-too-much"

    size: int
    most: int

    sentence = (
        "The task returned {size:,} bytes of JSON; {most:,} are allowed. Return an id"
        " of what it made, or raise MAX_RETURN_BYTES in TASKS."
    )


class OtherTransaction(BrokerError):
    """A task cannot be part of the caller's transaction; it was not enqueued."""

    code = "other-transaction"

    database: str

    sentence = (
        "The transaction is one of the database {database!r}, and tasks are in the"
        " default one: if it was rolled back, the task would run. Enqueue after it, by"
        " transaction.on_commit, or in a transaction of the default database."
    )
