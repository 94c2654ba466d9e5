"""Errors of groups of dead letters."""

from __future__ import annotations

from datetime import UTC, datetime

from broker.errors import BrokerError


class InvalidTicket(BrokerError):
    """The link of a ticket is not a safe URL."""

    code = "invalid-ticket"

    link: str

    def __str__(self) -> str:
        return (
            f"“{self.link[:200]}” is not a link to a ticket. Enter a URL that begins"
            " with https:// or http:// and has a host, but no name or password."
        )


class InvalidSnooze(BrokerError):
    """A group cannot be snoozed until this time."""

    code = "invalid-snooze"

    until: datetime
    days: int

    def __str__(self) -> str:
        until = self.until.astimezone(UTC)
        return (
            f"{until:%Y-%m-%d %H:%M} UTC is in the past, or more than"
            f" {self.days} days ahead. Choose a time in between."
        )


class NoSuchGroup(BrokerError):
    """The user sees no dead letter with this fingerprint."""

    code = "no-such-group"

    fingerprint: str

    sentence = (
        "There is no group {fingerprint!r} of dead letters that you may see. Look for"
        " it under Dead letters."
    )
