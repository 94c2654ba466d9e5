"""Errors of the broker.

Each error states one broken rule. Its facts are attributes, so that the log, the
console and each protocol can format the same values. Its ``code`` is stable: programs
can rely on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, dataclass_transform

from broker.errors.mq_codes import Completion, Reason


@dataclass_transform(eq_default=False)
class StatedError(Exception):
    """An error that states facts: a dataclass, whose fields are also its ``args``."""

    sentence: ClassVar[str] = ""  # the message, a format for ``str.format``

    def __init_subclass__(cls) -> None:
        dataclass(eq=False, repr=False)(cls)

    def __post_init__(self) -> None:
        self.args = tuple(vars(self).values())

    def __str__(self) -> str:
        return self.sentence.format_map(vars(self))


class BrokerError(StatedError):
    """The base class of all errors of the broker."""

    code: ClassVar[str]
    # The reason code for clients of IBM MQ, and the completion code of its call.
    reason: ClassVar[Reason] = Reason.UNEXPECTED_ERROR
    completion: ClassVar[Completion] = Completion.FAILED


class NoSuchAddress(BrokerError):
    """A put named an address that does not exist; nothing was stored."""

    code = "no-such-address"
    reason = Reason.UNKNOWN_OBJECT_NAME

    address: str

    sentence = (
        "There is no address {address!r}. Create it with a queue under Settings, or"
        " correct the name."
    )


class NoSuchQueue(BrokerError):
    """A call named a queue that does not exist."""

    code = "no-such-queue"
    reason = Reason.UNKNOWN_OBJECT_NAME

    queue: str

    sentence = (
        "There is no queue {queue!r}. Create it under Settings, or correct the name."
    )


class MessageTooLarge(BrokerError):
    """A message is above the broker's limit; nothing was stored."""

    code = "message-too-large"
    reason = Reason.MSG_TOO_BIG_FOR_Q_MGR

    size_bytes: int
    limit_bytes: int

    sentence = (
        "The body has {size_bytes:,} bytes; at most {limit_bytes:,} are allowed"
        " (BROKER_MAX_MESSAGE_BYTES). Send it in parts, or a reference."
    )


class InvalidMessage(BrokerError):
    """A message has a value that cannot be stored; nothing was stored."""

    code = "invalid-message"

    why: str

    sentence = (
        "The message cannot be stored: {why}. Headers must be text without NUL, and"
        " properties must be JSON; the body may be any bytes."
    )


class LockLost(BrokerError):
    """The unit of work ended before this call, or no longer holds these entries.

    Another consumer may have its entries by now. The caller must treat its own work as
    not done, and must not settle again.
    """

    code = "lock-lost"
    reason = Reason.BACKED_OUT

    uow: int | None  # None: the unit of work only put, and had no number

    def __str__(self) -> str:
        name = "The unit of work" if self.uow is None else f"Unit of work {self.uow}"
        return (
            f"{name} no longer holds its messages: it has already"
            " ended, its deadline has passed, or its process was taken for dead. Its"
            " work counts as not done. Get the messages again."
        )


class UnitOfWorkEnded(BrokerError):
    """A unit of work was used after its commit or backout."""

    code = "unit-of-work-ended"

    uow: int | None

    sentence = "This unit of work has ended. Begin another one."


class NotResubmittable(BrokerError):
    """None of the chosen dead letters can be resubmitted."""

    code = "not-resubmittable"

    scope: str

    sentence = (
        "Nothing in “{scope}” can be resubmitted: the messages are gone, a consumer"
        " holds them, or their queue no longer exists. Reload the list, and choose"
        " others."
    )


class OperationNotPlanned(BrokerError):
    """An operation was started or cancelled twice."""

    code = "operation-not-planned"

    operation_id: int
    state: str

    sentence = (
        "Operation {operation_id} is already {state}. Plan a new one if it is still"
        " needed."
    )


class UnsafeServer(BrokerError):
    """The database server could lose data that it has confirmed."""

    code = "unsafe-server"

    setting: str

    sentence = (
        "PostgreSQL runs with {setting} = off, so a power cut could lose confirmed"
        " messages. Set {setting} = on and restart it."
    )


class PoolerHasLocks(UnsafeServer):
    """A connection pooler would hold the locks of a process, also of a dead one."""

    code = "pooler-has-locks"

    setting: str = "BROKER_DIRECT_DATABASE_URL"

    sentence = (
        "DATABASES leads to a connection pooler, but the locks of a process need a"
        " session of their own. Set {setting} to the URL of PostgreSQL itself, or to"
        " that of a pooler in session mode."
    )
