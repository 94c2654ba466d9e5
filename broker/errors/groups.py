"""What the broker refuses about groups of dead letters."""

from __future__ import annotations

from datetime import datetime

from broker.errors import BrokerError


class InvalidTicket(BrokerError):
    """A ticket's link leads nowhere that a person should be led to."""

    code = "invalid-ticket"

    link: str

    def __str__(self) -> str:
        return (
            f"“{self.link[:200]}” is no link to a ticket. Give one that begins with"
            " https:// or http:// and has a host, without a name or password in it."
        )


class InvalidSnooze(BrokerError):
    """A group cannot be put off until then."""

    code = "invalid-snooze"

    until: datetime
    days: int

    def __str__(self) -> str:
        return (
            f"{self.until:%Y-%m-%d %H:%M} UTC is over, or more than {self.days} days"
            " away. Choose a time between."
        )


class NoSuchGroup(BrokerError):
    """No dead letter that one may see has this fingerprint."""

    code = "no-such-group"

    fingerprint: str

    def __str__(self) -> str:
        return (
            f"There is no group {self.fingerprint!r} of dead letters that you may see."
            " Look for it under Dead letters."
        )
