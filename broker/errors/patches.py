"""What repairs refuse."""

from __future__ import annotations

from broker.errors import BrokerError


class InvalidPatch(BrokerError):
    """A patch cannot be read, or could not be applied to any message."""

    code = "invalid-patch"

    why: str
    where: str = ""  # as "body, operation 2"; empty: the whole

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        return f"This is no patch. {where[:1].upper()}{where[1:]}{self.why}."


class NotPatchable(BrokerError):
    """A plan is of a kind that sends nothing on, so there is nothing to repair."""

    code = "not-patchable"

    operation_id: int

    def __str__(self) -> str:
        return (
            f"Operation {self.operation_id} sends no messages on. Only what is"
            " resubmitted or moved can be repaired on its way."
        )


class PatchNotLooked(BrokerError):
    """Nobody knows yet what a patch would do to all of the messages; nothing began."""

    code = "patch-not-looked"

    operation_id: int

    def __str__(self) -> str:
        return (
            f"What the patch of operation {self.operation_id} would change is still"
            " being looked at. Wait until its preview is complete, then start it."
        )


class NotRepaired(BrokerError):
    """A message was not sent, so nothing of it was changed."""

    code = "not-repaired"

    message_id: int
    why: str  # a sentence

    def __str__(self) -> str:
        return (
            f"Message {self.message_id} was not sent, and is as it was. {self.why} Look"
            " at it again."
        )
