"""What can be wrong with a bridge, its links, and the providers that they connect."""

from __future__ import annotations

from broker.errors import BrokerError


class BridgeError(BrokerError):
    """Anything that is wrong with a bridge."""


class NoSuchBridge(BridgeError):
    """A call named a bridge that does not exist."""

    code = "no-such-bridge"

    bridge: str

    def __str__(self) -> str:
        return (
            f"There is no bridge {self.bridge!r}. Create it under Settings, or correct"
            " the name."
        )


class NoSuchLink(BridgeError):
    """A call named a link that does not exist."""

    code = "no-such-link"

    bridge: str
    link: str

    def __str__(self) -> str:
        return (
            f"The bridge {self.bridge!r} has no link {self.link!r}. Create it under"
            " Settings, or correct the name."
        )


class CommandRefused(BridgeError):
    """A link in this state does not take this command; nothing has changed."""

    code = "link-command-refused"

    link: str
    command: str
    why: str

    def __str__(self) -> str:
        return f"The link {self.link!r} cannot {self.command}: {self.why}"


class WrongLink(BridgeError):
    """A link cannot run as it is configured; nothing was consumed."""

    code = "wrong-link"

    link: str
    why: str

    def __str__(self) -> str:
        return f"The link {self.link!r} cannot run: {self.why}"


class ProviderError(BridgeError):
    """Something is wrong with a provider, or with what a connection factory says of it.

    Args:
        factory: the name of the connection factory.
        why: a sentence; what to do stands in it where that is known.
    """

    factory: str
    why: str

    def __str__(self) -> str:
        return f"{self.factory}: {self.why}"


class ProviderLost(ProviderError):
    """A provider cannot be reached, or its connection broke. It is tried again.

    What was under way may or may not have been done.
    """

    code = "provider-lost"


class AccessRefused(ProviderError):
    """A provider does not take this name and password. It is not tried again."""

    code = "provider-access-refused"


class WrongFactory(ProviderError):
    """A connection factory, or a destination at it, cannot be used as it is written.

    It is not tried again.
    """

    code = "wrong-connection-factory"


class SendRefused(ProviderError):
    """A provider does not take one message. Others may still be sent."""

    code = "provider-send-refused"


class CommitInDoubt(ProviderError):
    """A provider was asked to commit, and nobody knows whether it did."""

    code = "provider-commit-in-doubt"


class SecretsLost(BridgeError):
    """Passwords of connection factories cannot be decrypted with the keys there are."""

    code = "secrets-lost"

    factories: list[str]

    def __str__(self) -> str:
        names = ", ".join(self.factories)
        return (
            f"The passwords of these connection factories cannot be decrypted: {names}."
            " They were encrypted with a key that BACKOUT_SECRET_KEYS no longer has."
            " Add that key again, at the end, or enter the passwords anew."
        )


class TransformerFailed(BridgeError):
    """A message transformer raised, gave nothing back, or took too long."""

    code = "transformer-failed"

    transformer: str
    why: str

    def __str__(self) -> str:
        return f"The transformer {self.transformer!r} failed: {self.why}"


class DeadMessageRefused(BridgeError):
    """No dead message queue took a message. The link stops, and the source keeps it."""

    code = "dead-message-refused"

    link: str
    why: str

    def __str__(self) -> str:
        return (
            f"No dead message queue of the link {self.link!r} took the message:"
            f" {self.why} The link has stopped, and the message is still at its source."
        )


class LinkTakenOver(BridgeError):
    """Another process runs the link now. This one must do nothing more for it."""

    code = "link-taken-over"

    link: str
    epoch: int

    def __str__(self) -> str:
        return (
            f"Another process runs the link {self.link!r} now; what this one had begun"
            f" in its turn {self.epoch} was undone."
        )


class NoSuchTransformer(BridgeError):
    """A link names a transformer that nobody registers."""

    code = "no-such-transformer"

    transformer: str
    known: list[str]

    def __str__(self) -> str:
        known = ", ".join(self.known) or "none"
        return (
            f"There is no message transformer {self.transformer!r}. Register it with"
            f" @transforms in transformers.py of an installed application, or take one"
            f" that exists: {known}."
        )


class NoSuchBranch(BridgeError):
    """A transaction of a link that was in doubt has ended meanwhile."""

    code = "no-such-branch"

    xid: str

    def __str__(self) -> str:
        return f"The transaction {self.xid!r} has ended already. Nothing is to be done."


class NoSuchPart(BridgeError):
    """A call named something that the bridge does not have."""

    code = "no-such-bridge-part"

    kind: str  # "connection factory", "destination", …
    name: str
    bridge: str

    def __str__(self) -> str:
        return (
            f"The bridge {self.bridge!r} has no {self.kind} {self.name!r}. Create it,"
            " or correct the name."
        )


class WrongBridge(BridgeError):
    """A bridge, or something in it, cannot be as it was to be; nothing was saved."""

    code = "wrong-bridge"

    problems: list[str]  # sentences

    def __str__(self) -> str:
        return " ".join(self.problems)


class StillNeeded(BridgeError):
    """Something of a bridge cannot be deleted now; nothing was."""

    code = "bridge-part-needed"

    what: str
    why: str  # and what to do

    def __str__(self) -> str:
        return f"{self.what} cannot be deleted: {self.why}"
