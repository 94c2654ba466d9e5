"""The server's side of SASL, before a connection: bytes in, questions out.

``ServerSasl`` gives its caller one question at a time, as whether a password is right.
After the exchange has succeeded, ``rest`` returns the bytes received behind it, for
``Connection.receive``; ``ClientSasl`` does so, too.

Source: AMQP 1.0, part 5, section 5.3; RFC 4616 (PLAIN), 4505 (ANONYMOUS), 4422
(EXTERNAL), 7677 (SCRAM-SHA-256).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from broker.amqp.protocol.conditions import NOT_ALLOWED, UNAUTHORIZED_ACCESS, AmqpError
from broker.amqp.protocol.frames import SASL_HEADER
from broker.amqp.protocol.performatives import (
    Performative,
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from broker.amqp.protocol.sasl.client import ClientSasl
from broker.amqp.protocol.sasl.exchange import (
    ANONYMOUS,
    EXTERNAL,
    MOST_BYTES,
    MSSBCBS,
    NOT_WELCOME,
    OK,
    OUR_TROUBLE,
    PLAIN,
    SCRAM,
    Exchange,
)
from broker.amqp.protocol.sasl.scram import Keys, ScramServer

__all__ = [
    "ANONYMOUS",
    "EXTERNAL",
    "MOST_BYTES",
    "MSSBCBS",
    "NOT_WELCOME",
    "OUR_TROUBLE",
    "PLAIN",
    "SCRAM",
    "Anonymous",
    "ClientSasl",
    "Denied",
    "External",
    "Keys",
    "Plain",
    "Proven",
    "Question",
    "ServerSasl",
    "WantsKeys",
]


@dataclass(slots=True)
class Plain:
    """Is this the user's password? Answer with ``accept`` or ``deny``."""

    user: str
    password: str


@dataclass(slots=True)
class External:
    """Is the client authenticated by TLS? Answer with ``accept`` or ``deny``.

    ``identity`` is the name that the client asks for; empty if it wants the name of its
    certificate.
    """

    identity: str


@dataclass(slots=True)
class Anonymous:
    """May anonymous clients connect? Answer with ``accept`` or ``deny``. ``trace`` is
    text that the client chose to identify itself."""

    trace: str


@dataclass(slots=True)
class WantsKeys:
    """What are the user's keys? Answer with ``challenge``; use ``decoy`` for an unknown
    user."""

    user: str


@dataclass(slots=True)
class Proven:
    """The user has proved knowledge of the password. Answer with ``accept`` or
    ``deny``."""

    user: str


@dataclass(slots=True)
class Denied:
    """The exchange has failed: a protocol error, or a wrong SCRAM proof.

    The answer is in ``outgoing``; write it, and close.
    """

    user: str
    error: AmqpError


Question = Plain | External | Anonymous | WantsKeys | Proven | Denied


class ServerSasl(Exchange):
    """The server's side.

    Args:
        mechanisms: the mechanisms to offer.

    Attributes:
        mechanism: the client's choice; empty before.
        user: the name that the client gave, if any.
        hostname: the server's name that the client sent.
    """

    def __init__(self, mechanisms: Sequence[str]) -> None:
        super().__init__()
        self.mechanisms = tuple(mechanisms)
        self.mechanism = ""
        self.user = ""
        self.hostname: str | None = None
        self.asked = False  # a question to the caller is not answered yet
        self.proof: bytes | None = None  # our proof for SCRAM clients
        self.scram = ScramServer()
        self.step: Callable[[bytes], Question] | None = None
        self.steps: dict[str, Callable[[bytes], Question]] = {
            PLAIN: self.plain,
            EXTERNAL: lambda data: External(utf8(data)),
            ANONYMOUS: lambda data: Anonymous(utf8(data)),
            MSSBCBS: lambda data: Anonymous(utf8(data)),
            SCRAM: self.scram_first,
        }

    def receive(self, data: bytes) -> Question | None:
        """Process received bytes, in pieces of any size; return a question, if any.

        Until it is answered, further bytes are stored, up to the limit.
        """
        if self.over:
            return None
        try:
            if self.asked:
                self.keep(data)
                return None
            for performative in self.read(data):
                question = self.take(performative)
                if question is not None:
                    self.asked = True
                    return question
        except AmqpError as error:
            return self.refused(error)
        return None

    def challenge(self, keys: Keys) -> None:
        """Answer ``WantsKeys``."""
        self.write(SaslChallenge(self.scram.challenge(keys)))
        self.step = self.scram_final
        self.asked = False

    def accept(self) -> None:
        """Accept the client. Give its ``rest`` to the connection."""
        if not self.over:
            self.write(SaslOutcome(OK, self.proof))
            self.over = self.succeeded = True

    def deny(self, code: int = NOT_WELCOME) -> None:
        """Refuse the client; use ``OUR_TROUBLE`` if it may try again later."""
        if not self.over:
            self.write(SaslOutcome(code))
            self.over = True

    # Bytes from the client.

    def greet(self) -> None:
        self.out += SASL_HEADER
        self.write(SaslMechanisms(self.mechanisms))

    def refused(self, error: AmqpError) -> Denied:
        if self.header is None:
            self.deny()
        else:  # the client uses another protocol: answer with our protocol header
            self.out += SASL_HEADER
            self.over = True
        return Denied(self.user, error)

    def take(self, performative: Performative) -> Question | None:
        if isinstance(performative, SaslInit) and not self.mechanism:
            return self.begin(performative)
        if isinstance(performative, SaslResponse) and self.step is not None:
            return self.step(performative.response)
        raise AmqpError(NOT_ALLOWED, f"{type(performative).__name__} out of turn")

    def begin(self, said: SaslInit) -> Question | None:
        if said.mechanism not in self.mechanisms:
            raise AmqpError(UNAUTHORIZED_ACCESS, f"no mechanism {said.mechanism}")
        self.mechanism, self.hostname = said.mechanism, said.hostname
        self.step = self.steps[said.mechanism]
        if said.initial_response is None and said.mechanism in (PLAIN, SCRAM):
            self.write(SaslChallenge(b""))
            return None
        return self.step(said.initial_response or b"")

    def plain(self, data: bytes) -> Plain:
        authority, user, password = several(data)
        self.user = user
        if not user or not password or authority not in ("", user):
            raise AmqpError(UNAUTHORIZED_ACCESS, "no name, no password, or two names")
        return Plain(user, password)

    def scram_first(self, data: bytes) -> WantsKeys:
        self.user = self.scram.first(data)
        return WantsKeys(self.user)

    def scram_final(self, data: bytes) -> Proven:
        self.proof = self.scram.final(data)
        return Proven(self.user)


def utf8(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise AmqpError(UNAUTHORIZED_ACCESS, "a name that is not UTF-8") from None


def several(data: bytes) -> tuple[str, str, str]:
    """The authorization identity, name and password of PLAIN."""
    parts = utf8(data).split("\0")
    if len(parts) != 3:
        raise AmqpError(UNAUTHORIZED_ACCESS, "PLAIN has three parts")
    return parts[0], parts[1], parts[2]
