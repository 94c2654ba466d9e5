"""The client's side of SASL.

Source: AMQP 1.0, part 5, section 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence

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
from broker.amqp.protocol.sasl.exchange import OK, PLAIN, SCRAM, Exchange
from broker.amqp.protocol.sasl.scram import ScramClient


class ClientSasl(Exchange):
    """The client's side.

    Args:
        mechanisms: the mechanisms to use, best first.
        user, password: the user name and password, for PLAIN and SCRAM-SHA-256.
        hostname: the server's name that is sent.

    Attributes:
        error: the reason for a failure.
        code: the code of the outcome, once there is one; 1 is a wrong name or password,
            larger ones are errors of the server.
    """

    def __init__(
        self,
        mechanisms: Sequence[str],
        *,
        user: str = "",
        password: str = "",
        hostname: str | None = None,
    ) -> None:
        super().__init__()
        self.mechanisms = tuple(mechanisms)
        self.user = user
        self.password = password
        self.hostname = hostname
        self.mechanism = ""
        self.error: AmqpError | None = None
        self.code: int | None = None
        self.scram: ScramClient | None = None
        self.verified = False
        self.out += SASL_HEADER

    def receive(self, data: bytes) -> None:
        """Process received bytes, in pieces of any size; it never raises for them."""
        if self.over:
            return
        try:
            for performative in self.read(data):
                self.take(performative)
                if self.succeeded:
                    return
        except AmqpError as error:
            self.over, self.error = True, error

    def take(self, performative: Performative) -> None:
        match performative:
            case SaslMechanisms() if not self.mechanism:
                self.choose(performative.sasl_server_mechanisms)
            case SaslChallenge() if self.mechanism:
                self.write(SaslResponse(self.answer(performative.challenge)))
            case SaslOutcome() if self.mechanism:
                self.end(performative)
            case _:
                error = f"{type(performative).__name__} out of turn"
                raise AmqpError(NOT_ALLOWED, error)

    def choose(self, offered: Sequence[str]) -> None:
        usable = [name for name in self.mechanisms if name in offered]
        if not usable:
            error = f"the server offers {', '.join(offered)}"
            raise AmqpError(UNAUTHORIZED_ACCESS, error)
        self.mechanism = usable[0]
        self.write(SaslInit(self.mechanism, self.initial(), self.hostname))

    def initial(self) -> bytes:
        if self.mechanism == PLAIN:
            return f"\0{self.user}\0{self.password}".encode()
        if self.mechanism == SCRAM:
            self.scram = ScramClient(self.user, self.password)
            return self.scram.first()
        return b""

    def answer(self, challenge: bytes) -> bytes:
        if self.scram is None:
            return b""
        if not self.scram.expected:
            return self.scram.respond(challenge)
        self.verify(challenge)
        return b""

    def verify(self, message: bytes) -> None:
        assert self.scram is not None
        self.scram.verify(message)
        self.verified = True

    def end(self, outcome: SaslOutcome) -> None:
        self.code = outcome.code
        if outcome.code != OK:
            error = f"the server says no, with code {outcome.code}"
            raise AmqpError(UNAUTHORIZED_ACCESS, error)
        if self.scram is not None and not self.verified:
            self.verify(outcome.additional_data or b"")
        self.over = self.succeeded = True
