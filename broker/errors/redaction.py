"""Errors that refuse to use or to show masked values."""

from __future__ import annotations

from collections.abc import Sequence

from broker.errors import BrokerError
from broker.errors.mq_codes import Reason


class MaskedSearch(BrokerError):
    """A search would disclose masked values; nothing was searched."""

    code = "masked-search"
    reason = Reason.NOT_AUTHORIZED

    asked: str
    rules: Sequence[str]

    def __str__(self) -> str:
        many = len(self.rules) > 1
        return (
            f"“{self.asked}” would disclose values that are masked by"
            f" {'rules' if many else 'rule'} {', '.join(self.rules)}. This search needs"
            " the authority “unmask” on every queue of"
            f" {'these rules' if many else 'this rule'}."
        )


class MaskedMessage(BrokerError):
    """The action needs values that are masked for this user."""

    code = "masked-message"
    reason = Reason.NOT_AUTHORIZED

    rules: Sequence[str]

    def __str__(self) -> str:
        many = len(self.rules) > 1
        return (
            f"The message has values that are masked by {'rules' if many else 'rule'}"
            f" {', '.join(self.rules)}. This action needs the authority “unmask” on"
            " every queue where the message is or was."
        )


class UnmaskingNeedsReason(BrokerError):
    """A request to see masked values has no reason; nothing was shown."""

    code = "unmasking-needs-reason"

    sentence = (
        "Enter the reason why you need to see masked values. It is written to the"
        " audit."
    )
