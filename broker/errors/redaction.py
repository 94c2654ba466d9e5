"""What is refused because a value is masked."""

from __future__ import annotations

from collections.abc import Sequence

from broker.errors import BrokerError
from broker.errors.mq_codes import Reason


class MaskedSearch(BrokerError):
    """A search would tell what is in values that are masked; nothing was looked for."""

    code = "masked-search"
    reason = Reason.NOT_AUTHORIZED

    asked: str
    rules: Sequence[str]

    def __str__(self) -> str:
        many = len(self.rules) > 1
        return (
            f"“{self.asked}” would tell what is masked by"
            f" {'rules' if many else 'rule'} {', '.join(self.rules)}. To look for it"
            " needs the authority “unmask” on every queue that"
            f" {'these rules are' if many else 'this rule is'} for."
        )


class MaskedMessage(BrokerError):
    """What is to be done needs values that are masked for whoever asks."""

    code = "masked-message"
    reason = Reason.NOT_AUTHORIZED

    rules: Sequence[str]

    def __str__(self) -> str:
        many = len(self.rules) > 1
        return (
            f"What is in it is masked by {'rules' if many else 'rule'}"
            f" {', '.join(self.rules)}. This needs the authority “unmask” on"
            " every queue where it is or was."
        )


class UnmaskingNeedsReason(BrokerError):
    """Somebody wants to see what is masked, and does not say why; nothing was shown."""

    code = "unmasking-needs-reason"

    def __str__(self) -> str:
        return "Say why you need to see what is masked. It stands in the audit."
