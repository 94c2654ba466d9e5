"""What operations refuse."""

from __future__ import annotations

from broker.errors import BrokerError
from broker.mq.codes import Reason


class NothingChosen(BrokerError):
    """No entry was chosen that the operation could be about; nothing was planned."""

    code = "nothing-chosen"
    reason = Reason.NO_MSG_AVAILABLE

    def __init__(self, scope: str) -> None:
        super().__init__(scope)
        self.scope = scope

    def __str__(self) -> str:
        return (
            f"There is nothing to do in “{self.scope}”: the messages are gone, or in"
            " the hands of a consumer. Look again, and choose others."
        )


class InvalidPriority(BrokerError):
    """A priority is not one of 0 to 9; nothing was planned."""

    code = "invalid-priority"

    def __init__(self, priority: str) -> None:
        super().__init__(priority)
        self.priority = priority

    def __str__(self) -> str:
        return f"{self.priority!r} is no priority. Give one from 0 to 9; 9 goes first."


class NotUndoable(BrokerError):
    """An operation cannot be taken back; nothing was planned."""

    code = "not-undoable"

    def __init__(self, operation_id: int, why: str) -> None:
        super().__init__(operation_id, why)
        self.operation_id = operation_id
        self.why = why  # a sentence's end

    def __str__(self) -> str:
        return (
            f"Operation {self.operation_id} cannot be undone: {self.why}. What it did"
            " can be changed by another operation."
        )
