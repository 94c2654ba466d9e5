"""Errors of the discard bin."""

from __future__ import annotations

from datetime import UTC, datetime

from broker.errors import BrokerError
from broker.errors.mq_codes import Reason


class NotInDiscardBin(BrokerError):
    """The discard bin does not have the message; nothing was done."""

    code = "not-in-discard-bin"
    reason = Reason.NO_MSG_AVAILABLE

    message_id: int

    sentence = (
        "The discard bin does not have message {message_id}: it was restored, or its"
        " time in the bin is over. Search the journal for it."
    )


class DiscardedExpired(BrokerError):
    """A discarded message would expire as soon as it is restored; nothing was done."""

    code = "discarded-expired"
    reason = Reason.EXPIRY_ERROR

    message_id: int
    expires_at: datetime

    def __str__(self) -> str:
        at = self.expires_at.astimezone(UTC)
        return (
            f"Message {self.message_id} expired at {at:%Y-%m-%d %H:%M:%S} UTC; no"
            " consumer would get it. Put its body again as a new message."
        )
