"""Errors of repairs."""

from __future__ import annotations

from broker.errors import BrokerError


class InvalidPatch(BrokerError):
    """A patch is not valid, or could not be applied to any message."""

    code = "invalid-patch"

    why: str
    # Place in the patch, as "body, operation 2"; empty: the whole patch.
    where: str = ""

    def __str__(self) -> str:
        said = f"{self.where}: {self.why}" if self.where else self.why
        return f"The patch is not valid. {said[:1].upper()}{said[1:]}."


class NotPatchable(BrokerError):
    """The operation sends no messages, so there is nothing to repair."""

    code = "not-patchable"

    operation_id: int

    sentence = (
        "Operation {operation_id} sends no messages. Only messages that are resubmitted"
        " or moved can be repaired."
    )


class PatchNotLooked(BrokerError):
    """The preview of a patch is not complete; the operation did not start."""

    code = "patch-not-looked"

    operation_id: int

    sentence = (
        "The preview of the patch of operation {operation_id} is not complete yet. Wait"
        " until it is, then start the operation."
    )


class NotRepaired(BrokerError):
    """A repaired message was not sent; the original is unchanged."""

    code = "not-repaired"

    message_id: int
    why: str  # the reason, as a sentence

    sentence = (
        "Message {message_id} was not sent and is unchanged. {why} Check it again."
    )
