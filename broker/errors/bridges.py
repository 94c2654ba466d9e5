"""Errors of bridges, their links, and the providers that they connect."""

from __future__ import annotations

import re
from enum import StrEnum

from broker.errors import BrokerError
from broker.errors.queues import PutInhibited, QueueFull

# Texts by which Backout, ActiveMQ, Artemis and RabbitMQ report that a queue is full.
FULL_IN_WORDS = re.compile(
    r"\bis full\b|\bfull:|limit (is |was )?(reached|exceeded)|limit-exceeded", re.I
)


class BridgeError(BrokerError):
    """The base of the errors of bridges."""


class NoSuchBridge(BridgeError):
    """A call named a bridge that does not exist."""

    code = "no-such-bridge"

    bridge: str

    sentence = (
        "There is no bridge {bridge!r}. Create it under Settings, or correct the name."
    )


class NoSuchLink(BridgeError):
    """A call named a link that does not exist."""

    code = "no-such-link"

    bridge: str
    link: str

    sentence = (
        "The bridge {bridge!r} has no link {link!r}. Create it under Settings, or"
        " correct the name."
    )


class CommandRefused(BridgeError):
    """A link cannot execute this command in its state; nothing has changed."""

    code = "link-command-refused"

    link: str
    command: str
    state: str
    why: str

    sentence = "The link {link!r} cannot {command}: {why}"


class WrongLink(BridgeError):
    """A link cannot run as it is configured; nothing was consumed."""

    code = "wrong-link"

    link: str
    why: str

    sentence = "The link {link!r} cannot run: {why}"


class ProviderError(BridgeError):
    """An error of a provider, or of its connection factory.

    Args:
        factory: the name of the connection factory.
        why: a sentence, with what to do where that is known.
    """

    factory: str
    why: str

    sentence = "{factory}: {why}"


class ProviderLost(ProviderError):
    """A provider cannot be reached, or its connection broke. The link tries again.

    The outcome of the last call is not known.
    """

    code = "provider-lost"


class AccessRefused(ProviderError):
    """A provider refuses this name and password. The link does not try again."""

    code = "provider-access-refused"


class WrongFactory(ProviderError):
    """A connection factory or a destination is configured wrongly.

    The link does not try again.
    """

    code = "wrong-connection-factory"


class Hold(StrEnum):
    """Why a target accepts nothing for now; it ends without a change of the message."""

    FULL = "full"
    INHIBITED = "put-inhibited"

    @classmethod
    def of(cls, error: BaseException | None) -> Hold | None:
        """The hold that one of this broker's errors tells."""
        if isinstance(error, QueueFull):
            return cls.FULL
        return cls.INHIBITED if isinstance(error, PutInhibited) else None

    @classmethod
    def from_text(cls, text: str) -> Hold | None:
        """The hold that a provider tells in words, where it has no codes for it."""
        if "put-inhibited" in text:
            return cls.INHIBITED
        return cls.FULL if FULL_IN_WORDS.search(text) else None


class SendRefused(ProviderError):
    """A provider refuses one message. Others can still be sent, unless it holds."""

    code = "provider-send-refused"

    hold: Hold | None = None


class CommitInDoubt(ProviderError):
    """A provider was asked to commit, and the outcome is not known."""

    code = "provider-commit-in-doubt"


class SecretsLost(BridgeError):
    """The existing keys cannot decrypt the passwords of some connection factories."""

    code = "secrets-lost"

    factories: list[str]

    def __str__(self) -> str:
        names = ", ".join(self.factories)
        return (
            f"The passwords of these connection factories cannot be decrypted: {names}."
            " They were encrypted with a key that BACKOUT_SECRET_KEYS no longer has."
            " Add that key again at the end, or enter the passwords again."
        )


class TransformerFailed(BridgeError):
    """A message transformer raised an exception, returned an invalid result, or took
    too long."""

    code = "transformer-failed"

    transformer: str
    why: str

    sentence = "The transformer {transformer!r} failed: {why}"


class DeadMessageRefused(BridgeError):
    """No dead message queue accepted a message. The link stops; the source keeps it."""

    code = "dead-message-refused"

    link: str
    why: str

    sentence = (
        "No dead message queue of the link {link!r} accepted the message: {why} The"
        " link has stopped, and the message is still at its source. Fix the cause, then"
        " start the link."
    )


class LinkTakenOver(BridgeError):
    """Another process runs the link now. This process must stop working for it."""

    code = "link-taken-over"

    link: str
    epoch: int

    sentence = (
        "Another process runs the link {link!r} now. The open work of this process"
        " (epoch {epoch}) was rolled back. Nothing needs to be done."
    )


class NoSuchTransformer(BridgeError):
    """A link names a transformer that is not registered."""

    code = "no-such-transformer"

    transformer: str
    known: list[str]

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return (
            f"There is no message transformer {self.transformer!r}. Register it with"
            f" @transforms in transformers.py of an installed application, or use one"
            f" that exists: {known}."
        )


class NoSuchBranch(BridgeError):
    """A link's transaction in doubt has ended meanwhile."""

    code = "no-such-branch"

    xid: str

    sentence = "The transaction {xid!r} has already ended. Nothing is left to do."


class NoSuchPart(BridgeError):
    """A call named a part that the bridge does not have."""

    code = "no-such-bridge-part"

    kind: str  # "connection factory", "destination", …
    name: str
    bridge: str

    sentence = (
        "The bridge {bridge!r} has no {kind} {name!r}. Create it, or correct the name."
    )


class WrongBridge(BridgeError):
    """A bridge or one of its parts is not valid; nothing was saved."""

    code = "wrong-bridge"

    problems: list[str]  # sentences

    def __str__(self) -> str:
        return " ".join(self.problems)


class StillNeeded(BridgeError):
    """A part of a bridge cannot be deleted now; nothing was deleted."""

    code = "bridge-part-needed"

    what: str
    why: str  # the reason, and what to do

    sentence = "{what} cannot be deleted: {why}"
