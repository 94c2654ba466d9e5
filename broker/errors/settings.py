"""What is wrong with a document of settings."""

from __future__ import annotations

from broker.errors import BrokerError


class WrongSettings(BrokerError):
    """A document of settings cannot be read; nothing of it was taken over."""

    code = "wrong-settings"

    where: str  # "line 12, <max-delivery-attempts>"; empty for all of it
    why: str  # and what to do: a sentence

    def __str__(self) -> str:
        return f"{self.where[:1].upper()}{self.where[1:]}: {self.why}".lstrip(": ")


class SettingsChanged(BrokerError):
    """Somebody changed the settings since a preview; nothing was applied."""

    code = "settings-changed"

    what: str = "address settings"  # in the plural

    def __str__(self) -> str:
        return (
            f"The {self.what} have changed since this preview was made. Look at the"
            " new one, and apply that."
        )


class NotAsSeen(BrokerError):
    """Settings are not in the version that a change was for; nothing was changed."""

    code = "not-as-seen"

    match: str

    def __str__(self) -> str:
        return (
            f"What {self.match!r} defines is not as it was when this change was made."
            " Read it again, and make the change to that."
        )
