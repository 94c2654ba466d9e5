"""SASL, in front of a connection: who is it? Bytes in, questions out.

``ServerSasl`` asks its user one question at a time; ``ClientSasl`` answers a server.
Neither passes on what comes behind before the exchange has succeeded: then ``rest``
gives it, for ``Connection.receive``.

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
    """Is it known from elsewhere (TLS) who it is? Answer with ``accept`` or ``deny``.

    ``identity`` is whom the client wants to be; empty for whoever it is known as.
    """

    identity: str


@dataclass(slots=True)
class Anonymous:
    """May anybody come? Answer with ``accept`` or ``deny``. ``trace`` is a courtesy."""

    trace: str


@dataclass(slots=True)
class WantsKeys:
    """What are the user's keys? Answer with ``challenge``: with those of ``decoy`` if
    there are none."""

    user: str


@dataclass(slots=True)
class Proven:
    """The user has proved to know the password. Answer with ``accept`` or ``deny``."""

    user: str


@dataclass(slots=True)
class Denied:
    """It is over: the client did what cannot be, or did not know its password.

    The answer is in ``outgoing``; write it, and close.
    """

    user: str
    error: AmqpError


Question = Plain | External | Anonymous | WantsKeys | Proven | Denied


class ServerSasl(Exchange):
    """The server's side.

    Args:
        mechanisms: that are offered.

    Attributes:
        mechanism: that the client chose; empty before.
        user: whom it says to be, where it says so.
        hostname: that it wants to talk to.
    """

    def __init__(self, mechanisms: Sequence[str]) -> None:
        super().__init__()
        self.mechanisms = tuple(mechanisms)
        self.mechanism = ""
        self.user = ""
        self.hostname: str | None = None
        self.asked = False  # the user has not answered yet
        self.proof: bytes | None = None  # that we know the password, too
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
        """Take what came, in whatever pieces; perhaps there is a question then.

        Until it is answered, what comes is kept, up to the limit.
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
        """Answer to WantsKeys."""
        self.write(SaslChallenge(self.scram.challenge(keys)))
        self.step = self.scram_final
        self.asked = False

    def accept(self) -> None:
        """The client is welcome. Its ``rest`` goes to the connection."""
        if not self.over:
            self.write(SaslOutcome(OK, self.proof))
            self.over = self.succeeded = True

    def deny(self, code: int = NOT_WELCOME) -> None:
        """The client is not; ``OUR_TROUBLE`` where it may try again later."""
        if not self.over:
            self.write(SaslOutcome(code))
            self.over = True

    # What the client says.

    def greet(self) -> None:
        self.out += SASL_HEADER
        self.write(SaslMechanisms(self.mechanisms))

    def refused(self, error: AmqpError) -> Denied:
        if self.header is None:
            self.deny()
        else:  # some other protocol: say which is ours
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
    """Authority, name and password of PLAIN."""
    parts = utf8(data).split("\0")
    if len(parts) != 3:
        raise AmqpError(UNAUTHORIZED_ACCESS, "PLAIN has three parts")
    return parts[0], parts[1], parts[2]
