"""Errors of settings documents."""

from __future__ import annotations

from broker.errors import BrokerError


class WrongSettings(BrokerError):
    """A settings document is not valid; nothing was imported."""

    code = "wrong-settings"

    # Place in the document, as "line 12, <max-delivery-attempts>"; empty: the whole
    # document.
    where: str
    why: str  # the fault and what to do, as a sentence

    def __str__(self) -> str:
        return f"{self.where[:1].upper()}{self.where[1:]}: {self.why}".lstrip(": ")


class SettingsChanged(BrokerError):
    """Somebody changed the settings since a preview; nothing was applied."""

    code = "settings-changed"

    what: str = "address settings"  # name of the changed settings, in the plural

    sentence = (
        "The {what} have changed since this preview was made. Check the new preview,"
        " then apply it."
    )


class ChangedSinceRead(BrokerError):
    """Settings have another version than the change expects; nothing was changed."""

    code = "not-as-seen"

    match: str

    sentence = (
        "The settings of {match!r} have changed since you read them. Read them again,"
        " then repeat the change."
    )


class ObjectInUse(BrokerError):
    """An object cannot be created or deleted because of another; nothing was
    changed."""

    code = "object-in-use"

    kind: str  # kind of object, as "address"
    name: str
    why: str  # the reason and what to do, as a sentence

    sentence = "The {kind} {name!r} stays as it is. {why}"


class NoSuchObject(BrokerError):
    """A change or a deletion named an object that does not exist."""

    code = "no-such-object"

    kind: str
    name: str

    sentence = "There is no {kind} {name!r}. Correct the name, or create it first."


class AlreadyDeclared(BrokerError):
    """An object to create exists; nothing was changed."""

    code = "object-exists"

    kind: str
    name: str

    sentence = (
        "There is the {kind} {name!r} already. Alter it, or say that it is to be"
        " replaced."
    )
