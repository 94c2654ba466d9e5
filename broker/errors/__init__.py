"""What the broker refuses, and why.

Every error states one broken rule. It carries its facts as attributes, so that the log,
the console and every protocol say it in their own form from the same values, and a
``code``, which is stable and safe to match on.
"""

from __future__ import annotations

from typing import ClassVar

from broker.errors.mq_codes import Reason


class BrokerError(Exception):
    code: ClassVar[str]
    reason: ClassVar[Reason] = Reason.UNEXPECTED_ERROR  # as IBM MQ's clients know it


class NoSuchAddress(BrokerError):
    """A put named an address that does not exist; nothing was stored."""

    code = "no-such-address"
    reason = Reason.UNKNOWN_OBJECT_NAME

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.address = address

    def __str__(self) -> str:
        return (
            f"There is no address {self.address!r}. Create it with a queue under"
            " Settings, or correct the name."
        )


class NoSuchQueue(BrokerError):
    """A call named a queue that does not exist."""

    code = "no-such-queue"
    reason = Reason.UNKNOWN_OBJECT_NAME

    def __init__(self, queue: str) -> None:
        super().__init__(queue)
        self.queue = queue

    def __str__(self) -> str:
        return (
            f"There is no queue {self.queue!r}. Create it under Settings, or correct"
            " the name."
        )


class MessageTooLarge(BrokerError):
    """A message is above the broker's limit; nothing was stored."""

    code = "message-too-large"
    reason = Reason.MSG_TOO_BIG_FOR_Q_MGR

    def __init__(self, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(size_bytes, limit_bytes)
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes

    def __str__(self) -> str:
        return (
            f"The body has {self.size_bytes:,} bytes; at most {self.limit_bytes:,} are"
            " allowed (BROKER_MAX_MESSAGE_BYTES). Send it in parts, or a reference."
        )


class InvalidMessage(BrokerError):
    """A message holds what cannot be kept; nothing was stored."""

    code = "invalid-message"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return (
            f"The message cannot be kept: {self.why}. Its headers must be text without"
            " NUL and its properties JSON; send any bytes in the body."
        )


class LockLost(BrokerError):
    """The unit of work ended before this call, or no longer holds these entries.

    Its entries may be with another consumer by now. The caller must treat its own work
    as not done, and must not settle again.
    """

    code = "lock-lost"
    reason = Reason.BACKED_OUT

    def __init__(self, uow: int) -> None:
        super().__init__(uow)
        self.uow = uow

    def __str__(self) -> str:
        return (
            f"Unit of work {self.uow} no longer holds its messages: it was ended"
            " already, took longer than its deadline, or its process was taken for"
            " dead. Its work counts as not done; get the messages again."
        )


class UnitOfWorkEnded(BrokerError):
    """A unit of work was used after its commit or backout."""

    code = "unit-of-work-ended"

    def __init__(self, uow: int | None) -> None:
        super().__init__(uow)
        self.uow = uow

    def __str__(self) -> str:
        return "This unit of work has ended; begin another one."


class NotResubmittable(BrokerError):
    """Nothing chosen can go back to where it came from."""

    code = "not-resubmittable"

    def __init__(self, scope: str) -> None:
        super().__init__(scope)
        self.scope = scope

    def __str__(self) -> str:
        return (
            f"Nothing in “{self.scope}” can be resubmitted: the messages are gone, in"
            " the hands of a consumer, or their queue no longer exists."
        )


class OperationNotPlanned(BrokerError):
    """An operation was started or cancelled twice."""

    code = "operation-not-planned"

    def __init__(self, operation_id: int, state: str) -> None:
        super().__init__(operation_id, state)
        self.operation_id = operation_id
        self.state = state

    def __str__(self) -> str:
        return f"Operation {self.operation_id} is {self.state} already."


class UnsafeServer(BrokerError):
    """The database server could lose what it confirmed."""

    code = "unsafe-server"

    def __init__(self, setting: str) -> None:
        super().__init__(setting)
        self.setting = setting

    def __str__(self) -> str:
        return (
            f"PostgreSQL runs with {self.setting} = off, so a power cut could lose"
            f" confirmed messages. Set {self.setting} = on and restart it."
        )
