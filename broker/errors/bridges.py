"""What can be wrong with a bridge, its links, and the providers that they connect."""

from __future__ import annotations

from broker.errors import BrokerError


class BridgeError(BrokerError):
    """Anything that is wrong with a bridge."""


class NoSuchBridge(BridgeError):
    """A call named a bridge that does not exist."""

    code = "no-such-bridge"

    def __init__(self, bridge: str) -> None:
        super().__init__(bridge)
        self.bridge = bridge

    def __str__(self) -> str:
        return (
            f"There is no bridge {self.bridge!r}. Create it under Settings, or correct"
            " the name."
        )


class NoSuchLink(BridgeError):
    """A call named a link that does not exist."""

    code = "no-such-link"

    def __init__(self, bridge: str, link: str) -> None:
        super().__init__(bridge, link)
        self.bridge = bridge
        self.link = link

    def __str__(self) -> str:
        return (
            f"The bridge {self.bridge!r} has no link {self.link!r}. Create it under"
            " Settings, or correct the name."
        )


class CommandRefused(BridgeError):
    """A link in this state does not take this command; nothing has changed."""

    code = "link-command-refused"

    def __init__(self, link: str, command: str, why: str) -> None:
        super().__init__(link, command, why)
        self.link = link
        self.command = command
        self.why = why

    def __str__(self) -> str:
        return f"The link {self.link!r} cannot {self.command}: {self.why}"


class WrongLink(BridgeError):
    """A link cannot run as it is configured; nothing was consumed."""

    code = "wrong-link"

    def __init__(self, link: str, why: str) -> None:
        super().__init__(link, why)
        self.link = link
        self.why = why

    def __str__(self) -> str:
        return f"The link {self.link!r} cannot run: {self.why}"


class ProviderError(BridgeError):
    """Something is wrong with a provider, or with what a connection factory says of it.

    Args:
        factory: the name of the connection factory.
        why: a sentence; what to do stands in it where that is known.
    """

    def __init__(self, factory: str, why: str) -> None:
        super().__init__(factory, why)
        self.factory = factory
        self.why = why

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

    def __init__(self, factories: list[str]) -> None:
        super().__init__(factories)
        self.factories = factories

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

    def __init__(self, transformer: str, why: str) -> None:
        super().__init__(transformer, why)
        self.transformer = transformer
        self.why = why

    def __str__(self) -> str:
        return f"The transformer {self.transformer!r} failed: {self.why}"


class DeadMessageRefused(BridgeError):
    """No dead message queue took a message. The link stops, and the source keeps it."""

    code = "dead-message-refused"

    def __init__(self, link: str, why: str) -> None:
        super().__init__(link, why)
        self.link = link
        self.why = why

    def __str__(self) -> str:
        return (
            f"No dead message queue of the link {self.link!r} took the message:"
            f" {self.why} The link has stopped, and the message is still at its source."
        )


class LinkTakenOver(BridgeError):
    """Another process runs the link now. This one must do nothing more for it."""

    code = "link-taken-over"

    def __init__(self, link: str, epoch: int) -> None:
        super().__init__(link, epoch)
        self.link = link
        self.epoch = epoch

    def __str__(self) -> str:
        return (
            f"Another process runs the link {self.link!r} now; what this one had begun"
            f" in its turn {self.epoch} was undone."
        )


class NoSuchTransformer(BridgeError):
    """A link names a transformer that nobody registers."""

    code = "no-such-transformer"

    def __init__(self, transformer: str, known: list[str]) -> None:
        super().__init__(transformer, known)
        self.transformer = transformer
        self.known = known

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

    def __init__(self, xid: str) -> None:
        super().__init__(xid)
        self.xid = xid

    def __str__(self) -> str:
        return f"The transaction {self.xid!r} has ended already. Nothing is to be done."


class NoSuchPart(BridgeError):
    """A call named something that the bridge does not have."""

    code = "no-such-bridge-part"

    def __init__(self, kind: str, name: str, bridge: str) -> None:
        super().__init__(kind, name, bridge)
        self.kind = kind  # "connection factory", "destination", …
        self.name = name
        self.bridge = bridge

    def __str__(self) -> str:
        return (
            f"The bridge {self.bridge!r} has no {self.kind} {self.name!r}. Create it,"
            " or correct the name."
        )


class WrongBridge(BridgeError):
    """A bridge, or something in it, cannot be as it was to be; nothing was saved."""

    code = "wrong-bridge"

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems)
        self.problems = problems  # sentences

    def __str__(self) -> str:
        return " ".join(self.problems)


class StillNeeded(BridgeError):
    """Something of a bridge cannot be deleted now; nothing was."""

    code = "bridge-part-needed"

    def __init__(self, what: str, why: str) -> None:
        super().__init__(what, why)
        self.what = what
        self.why = why  # and what to do

    def __str__(self) -> str:
        return f"{self.what} cannot be deleted: {self.why}"
