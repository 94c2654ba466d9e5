"""What operations refuse."""

from __future__ import annotations

from datetime import datetime

from broker.errors import BrokerError
from broker.errors.mq_codes import Reason


class NothingChosen(BrokerError):
    """No entry was chosen that the operation could be about; nothing was planned."""

    code = "nothing-chosen"
    reason = Reason.NO_MSG_AVAILABLE

    scope: str

    def __str__(self) -> str:
        return (
            f"There is nothing to do in “{self.scope}”: the messages are gone, or in"
            " the hands of a consumer. Look again, and choose others."
        )


class InvalidPriority(BrokerError):
    """A priority is not one of 0 to 9; nothing was planned."""

    code = "invalid-priority"

    priority: str

    def __str__(self) -> str:
        return f"{self.priority!r} is no priority. Give one from 0 to 9; 9 goes first."


class NotUndoable(BrokerError):
    """An operation cannot be taken back; nothing was planned."""

    code = "not-undoable"

    operation_id: int
    why: str  # a sentence's end

    def __str__(self) -> str:
        return (
            f"Operation {self.operation_id} cannot be undone: {self.why}. What it did"
            " can be changed by another operation."
        )


class InvalidPace(BrokerError):
    """A pace is no number of messages a second; nothing was changed."""

    code = "invalid-pace"

    pace: int

    def __str__(self) -> str:
        return (
            f"{self.pace:,} messages a second is no pace. Give a number from 1 to"
            " 100,000, or none for as fast as it goes."
        )


class InvalidCanary(BrokerError):
    """A canary has more messages than can be watched; nothing was changed."""

    code = "invalid-canary"

    canaries: int
    most: int

    def __str__(self) -> str:
        return (
            f"{self.canaries:,} messages are no canary: each of them is watched until"
            f" it has ended. Give a number from 0, for none, to {self.most}."
        )


class ReasonMissing(BrokerError):
    """What needs a reason came without one; nothing was changed."""

    code = "reason-missing"

    what: str  # a sentence's beginning

    def __str__(self) -> str:
        return f"{self.what} needs a reason. Say why; it is kept with your name."


class ReasonNeeded(BrokerError):
    """An operation on so many messages of a queue says why; it was not started."""

    code = "reason-needed"

    operation_id: int
    queue: str

    def __str__(self) -> str:
        return (
            f"Operation {self.operation_id} is about so many messages of queue"
            f" {self.queue!r} that it needs a reason. Say why, and start it again."
        )


class ApprovalNeeded(BrokerError):
    """An operation on so many messages of a queue takes two; it was not started."""

    code = "approval-needed"

    operation_id: int
    queue: str
    what_to_do: str  # a sentence without its stop

    def __str__(self) -> str:
        return (
            f"Operation {self.operation_id} is about so many messages of queue"
            f" {self.queue!r} that it takes a second person. {self.what_to_do}."
        )


class ApprovalExpired(BrokerError):
    """An operation was approved too long ago; it was not started."""

    code = "approval-expired"

    operation_id: int
    expired_at: datetime

    def __str__(self) -> str:
        return (
            f"The approval of operation {self.operation_id} ended at"
            f" {self.expired_at:%Y-%m-%d %H:%M:%S} UTC. Plan it again, and have that"
            " approved."
        )


class OwnApproval(BrokerError):
    """Somebody would approve what they planned themselves."""

    code = "own-approval"
    reason = Reason.NOT_AUTHORIZED

    operation_id: int

    def __str__(self) -> str:
        return (
            f"Whoever planned operation {self.operation_id} cannot approve it: it takes"
            " a second person. Ask somebody else to look at it."
        )


class NotApprovable(BrokerError):
    """An operation cannot be approved; nothing was changed."""

    code = "not-approvable"

    operation_id: int
    why: str  # a sentence's end

    def __str__(self) -> str:
        return f"Operation {self.operation_id} cannot be approved: {self.why}."
