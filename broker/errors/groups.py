"""What the broker refuses about groups of dead letters."""

from __future__ import annotations

from datetime import datetime

from broker.errors import BrokerError


class InvalidTicket(BrokerError):
    """A ticket's link leads nowhere that a person should be led to."""

    code = "invalid-ticket"

    def __init__(self, link: str) -> None:
        super().__init__(link)
        self.link = link

    def __str__(self) -> str:
        return (
            f"“{self.link[:200]}” is no link to a ticket. Give one that begins with"
            " https:// or http:// and has a host, without a name or password in it."
        )


class InvalidSnooze(BrokerError):
    """A group cannot be put off until then."""

    code = "invalid-snooze"

    def __init__(self, until: datetime, days: int) -> None:
        super().__init__(until, days)
        self.until = until
        self.days = days

    def __str__(self) -> str:
        return (
            f"{self.until:%Y-%m-%d %H:%M} UTC is over, or more than {self.days} days"
            " away. Choose a time between."
        )


class NoSuchGroup(BrokerError):
    """No dead letter that one may see has this fingerprint."""

    code = "no-such-group"

    def __init__(self, fingerprint: str) -> None:
        super().__init__(fingerprint)
        self.fingerprint = fingerprint

    def __str__(self) -> str:
        return (
            f"There is no group {self.fingerprint!r} of dead letters that you may see."
            " Look for it under Dead letters."
        )
