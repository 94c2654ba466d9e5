"""Errors of operations."""

from __future__ import annotations

from datetime import UTC, datetime

from broker.errors import BrokerError
from broker.errors.mq_codes import Reason


class NothingChosen(BrokerError):
    """No entry was selected for the operation; nothing was planned."""

    code = "nothing-chosen"
    reason = Reason.NO_MSG_AVAILABLE

    scope: str

    sentence = (
        "There is nothing to do in “{scope}”: the messages are gone, or a consumer"
        " holds them. Reload the list, and choose others."
    )


class NoSuchOperation(BrokerError):
    """An operation does not exist, or is hidden from the actor."""

    code = "no-such-operation"

    operation_id: int

    sentence = "There is no operation {operation_id}."


class InvalidPriority(BrokerError):
    """A priority is not one of 0 to 9; nothing was planned."""

    code = "invalid-priority"

    priority: str

    sentence = (
        "{priority!r} is not a priority. Enter one from 0 to 9; 9 is the highest."
    )


class InvalidDueTime(BrokerError):
    """A new due time is missing, past or too far away; nothing was planned."""

    code = "invalid-due-time"

    sentence = (
        "Messages cannot be due then. Give a time to come, at most a year from now;"
        " “Deliver now” makes them ready at once."
    )


class NotUndoable(BrokerError):
    """An operation cannot be undone; no undo was planned."""

    code = "not-undoable"

    operation_id: int
    why: str  # the reason, as the end of a sentence

    sentence = (
        "Operation {operation_id} cannot be undone: {why}. Change its results by"
        " another operation."
    )


class NotUndone(BrokerError):
    """An operation that is not undone cannot be planned again; nothing was planned."""

    code = "not-undone"

    operation_id: int

    sentence = (
        "Operation {operation_id} is not undone, so it cannot be planned again. Undo it"
        " first."
    )


class InvalidPace(BrokerError):
    """A pace is not a valid number of messages a second; nothing was changed."""

    code = "invalid-pace"

    pace: int

    sentence = (
        "{pace:,} messages a second is not a valid pace. Enter a number from 1 to"
        " 100,000, or none for no limit."
    )


class InvalidCanary(BrokerError):
    """A canary has too many messages; nothing was changed."""

    code = "invalid-canary"

    canaries: int
    most: int

    sentence = (
        "A canary cannot have {canaries:,} messages. Enter a number from 0, for no"
        " canary, to {most}."
    )


class InvalidStart(BrokerError):
    """An operation cannot start by itself at a time; it did not."""

    code = "invalid-start"

    operation_id: int
    why: str  # the reason, as the end of a sentence

    sentence = (
        "Operation {operation_id} cannot start by itself: {why}. Choose another time,"
        " or start it at once."
    )


class ReasonMissing(BrokerError):
    """A request has no reason, but it needs one; nothing was changed."""

    code = "reason-missing"

    what: str  # the beginning of a sentence

    sentence = "{what} needs a reason. Enter one; it is stored with your name."


class ReasonNeeded(BrokerError):
    """An operation on so many messages of a queue needs a reason; it did not start."""

    code = "reason-needed"

    operation_id: int
    queue: str

    sentence = (
        "Operation {operation_id} has so many messages of queue {queue!r} that it needs"
        " a reason. Enter one, and start it again."
    )


class ApprovalNeeded(BrokerError):
    """An operation on so many messages of a queue needs approval; it did not start."""

    code = "approval-needed"

    operation_id: int
    queue: str
    what_to_do: str  # a sentence without its full stop

    sentence = (
        "Operation {operation_id} has so many messages of queue {queue!r} that a second"
        " person must approve it. {what_to_do}."
    )


class ApprovalExpired(BrokerError):
    """An operation was approved too long ago; it was not started."""

    code = "approval-expired"

    operation_id: int
    expired_at: datetime

    def __str__(self) -> str:
        at = self.expired_at.astimezone(UTC)
        return (
            f"The approval of operation {self.operation_id} expired at"
            f" {at:%Y-%m-%d %H:%M:%S} UTC. Plan it again, and ask for a"
            " new approval."
        )


class OwnApproval(BrokerError):
    """The person who planned an operation tried to approve it."""

    code = "own-approval"
    reason = Reason.NOT_AUTHORIZED

    operation_id: int

    sentence = (
        "The person who planned operation {operation_id} cannot approve it. Ask a"
        " second person to approve it."
    )


class NotApprovable(BrokerError):
    """An operation cannot be approved; nothing was changed."""

    code = "not-approvable"

    operation_id: int
    why: str  # the reason, as the end of a sentence

    sentence = "Operation {operation_id} cannot be approved: {why}."
