"""Refusals of acts by what their declarations say."""

from __future__ import annotations

from broker.errors import BrokerError
from broker.errors.mq_codes import Reason


class NoPerson(BrokerError):
    """A process ordered what is stored with the name of a user; nothing was changed."""

    code = "no-person"

    sentence = "Say who orders it, with --user: the name is stored with it."


class NotPermitted(BrokerError):
    """The actor lacks a permission; nothing was changed."""

    code = "not-permitted"
    reason = Reason.NOT_AUTHORIZED

    permission: str

    sentence = (
        "The permission {permission} is missing. An administrator can give it under"
        " Settings."
    )


class PayloadsNotPermitted(NotPermitted):
    """The actor may not read what a filter would reveal; nothing was searched."""

    what: str  # what the permission is for: a verb with its object

    sentence = (
        "To {what}, you need the permission {permission}, as for reading payloads. An"
        " administrator can give it under Settings."
    )


class InvalidRequest(BrokerError):
    """Fields of a request are beyond their limits; nothing was changed."""

    code = "invalid-request"

    faults: tuple[tuple[str, str], ...]  # names of fields, each with a sentence

    def __str__(self) -> str:
        return " ".join(f"{name}: {why}" if name else why for name, why in self.faults)
