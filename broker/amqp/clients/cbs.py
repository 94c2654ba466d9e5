"""Login by a token: claims-based security (CBS), for clients of Azure Service Bus.

A client connects as ANONYMOUS and then authenticates with a token. The token is signed
with the secret of a credential; the secret itself is not sent. The client puts it on
the node ``$cbs`` and gets the answer there. Until a token is accepted, the client can
use no other node, is counted as no user's, and has the time and bytes of a login. When
a token expires and no newer one came, the connection is closed.

``Visit`` takes the place of the SASL login, between the socket and the protocol engine.

Source:
    AMQP Claims-based Security 1.0 (OASIS, committee draft); "Service Bus access control
    with Shared Access Signatures" (Microsoft).
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from broker.amqp.clients import permission_cache
from broker.amqp.clients.identity import CBS, Identity
from broker.amqp.ends import End, Snapshot
from broker.amqp.protocol import events, sections
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import UNAUTHORIZED_ACCESS, AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.amqp.protocol.sasl.server import ANONYMOUS, MSSBCBS
from broker.amqp.protocol.types.types import Int
from broker.models import ClientEndpoint
from broker.models.clients import Credential
from broker.security import credentials

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

logger = logging.getLogger(__name__)

NODE = "$cbs"
MECHANISMS = (ANONYMOUS, MSSBCBS)
SCHEME = "SharedAccessSignature "
OPERATION = "put-token"
GOOD, BAD, REFUSED = 202, 400, 401
WORDS = {GOOD: "Accepted", BAD: "Bad request", REFUSED: "Unauthorized"}
SECONDS = re.compile("[0-9]{1,11}", re.ASCII)
CREDIT = 4  # tokens that a client may send before they are answered
TAG_BYTES = 16
WHO = f"Authenticate first: put a token on {NODE}."
EXPIRED = "The token has expired, and no newer one was sent."


@dataclass(frozen=True, slots=True)
class Token:
    """A shared access signature."""

    name: str  # name of the credential
    audience: str  # the resource that the token is for, as the client wrote it
    until: int  # end of validity, in seconds since 1970
    signature: str  # in Base64

    def is_signed_with(self, key: bytes) -> bool:
        signed = f"{self.audience}\n{self.until}".encode()
        right = b64encode(hmac.digest(key, signed, "sha256"))
        return hmac.compare_digest(right, self.signature.encode())


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A message that a client puts on the node ``$cbs``."""

    id: Any  # the message id; the answer repeats it
    token: Token | None  # None: the token cannot be read


def read(payload: bytes) -> TokenRequest:
    """Decode a request.

    Raises:
        AmqpError: the payload is not a message.
    """
    found = sections.split(payload)
    properties = sections.properties_of(found.properties)
    said = {
        text(name): text(value)
        for name, value in sections.map_of(found.application_properties).items()
    }
    token = None
    if said.get("operation") == OPERATION:  # sent as string or binary
        token = parse(text(sections.body_of(found.body).value))
    return TokenRequest(properties.message_id, token)


def text(value: object) -> str:
    """A text, which Microsoft's clients sometimes write as binary."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else ""


def parse(text: str) -> Token | None:
    """Parse a token of the form ``SharedAccessSignature sr=…&sig=…&se=…&skn=…``."""
    if not text.startswith(SCHEME):
        return None
    parts = (one.partition("=") for one in text.removeprefix(SCHEME).split("&"))
    fields = {name: value for name, _, value in parts}
    if not fields.keys() >= {"skn", "sr", "se", "sig"}:
        return None
    if not SECONDS.fullmatch(fields["se"]):
        return None
    return Token(
        name=unquote_plus(fields["skn"]),
        audience=fields["sr"],
        until=int(fields["se"]),
        signature=unquote_plus(fields["sig"]),
    )


def verify(token: Token, now_s: float) -> Credential | None:
    """The valid credential that signed an unexpired token; runs in a thread.

    A secret is longer than a block of SHA-256, so HMAC uses its digest as the key; the
    stored digest is enough. The time taken does not reveal whether the name exists.

    Source:
        RFC 2104, section 2.
    """
    credential = credentials.find(token.name, None)
    kept = credentials.digest("") if credential is None else credential.secret_sha256
    if not token.is_signed_with(bytes(kept)) or token.until <= now_s:
        return None
    return credential


def answer(asked: TokenRequest, status: int) -> bytes:
    """Encode the answer to a request."""
    said = {"status-code": Int(status), "status-description": WORDS[status]}
    properties = sections.Properties(correlation_id=asked.id)
    return (
        sections.encode_section(sections.PROPERTIES, properties)
        + sections.encode_section(sections.APPLICATION_PROPERTIES, said)
        + sections.encode_section(sections.VALUE, None)
    )


class Visit:
    """The login step until a token is accepted; for the loop's thread."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.connection = client.connection
        self.claims = Claims(self)
        self.said: p.Open | None = None
        self.taken = 0  # bytes received

    def receive(self, data: bytes) -> None:
        """Handle received bytes."""
        self.taken += len(data)
        if self.taken > self.client.limits.login_bytes:
            self.refuse("it sent too many bytes")
            return
        for event in self.connection.receive(data):
            if self.client.gone:
                return
            self.take(event)
        self.write()

    def take(self, event: events.Event) -> None:
        match event:
            case events.Opened(said):
                self.said = said
                self.connection.open()
            case events.Attached(endpoint):
                self.attached(endpoint)
            case events.MessageReceived(receiver, delivery) if (
                receiver.context is not None
            ):
                receiver.context.received([delivery])
            case events.Flowed(sender) if sender.context is not None:
                sender.context.flowed()
            case events.Closed():
                self.write()
                self.client.turn_away()

    def attached(self, endpoint: Endpoint) -> None:
        attach = endpoint.attach
        assert attach is not None, "that is why we are here"
        is_receiver = isinstance(endpoint, Receiver)
        terminus = attach.target if is_receiver else attach.source
        if getattr(terminus, "address", None) != NODE:
            endpoint.refuse(AmqpError(UNAUTHORIZED_ACCESS, WHO))
            return
        endpoint.context = Tokens(self.claims, endpoint)
        endpoint.accept()
        if isinstance(endpoint, Receiver):
            endpoint.grant(CREDIT)

    def write(self) -> None:
        if data := self.connection.outgoing():
            self.client.transport.write(data)

    def refuse(self, why: str) -> None:
        logger.info(
            "The login of a client at %s is refused: %s", self.client.address, why
        )
        self.connection.close(AmqpError(UNAUTHORIZED_ACCESS, WHO))
        self.write()
        self.client.turn_away()

    async def welcome(self, credential: Credential) -> bool:
        """Log the client in; False if it may not connect or is gone."""
        client = self.client
        identity = Identity(credential.user, credential, CBS)
        held = await client.listener.database(permission_cache.held_by, identity)
        if held is None or client.gone or self.said is None:
            return False
        await client.listener.database(credentials.used, credential)
        client.identity, client.held, client.login = identity, held, None
        await client.open(self.said)
        return not client.gone


class Claims:
    """The tokens of one client, and the timer of the latest one's expiry."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.client = visit.client
        self.answers: list[tuple[Endpoint, bytes]] = []  # answers that wait for credit
        self.timer: asyncio.TimerHandle | None = None
        self.running = asyncio.Lock()

    async def put(self, receiver: Endpoint, payload: bytes) -> None:
        """Verify a token, and answer."""
        asked = read(payload)
        async with self.running:
            status = BAD if asked.token is None else await self.judge(asked.token)
        if not self.client.gone or self.client.login is not None:
            self.answers.append((receiver, answer(asked, status)))
            self.send()

    async def judge(self, token: Token) -> int:
        now_s = self.client.listener.now().timestamp()
        credential = await self.client.listener.database(verify, token, now_s)
        if credential is None or not await self.is_welcome(credential):
            logger.info("A token for %r is refused.", token.name)
            return REFUSED
        self.expire_in(token.until - now_s)
        return GOOD

    async def is_welcome(self, credential: Credential) -> bool:
        if self.client.gone:
            return False
        if self.client.login is not None:
            return await self.visit.welcome(credential)
        known = self.client.credential
        return known is not None and known.pk == credential.pk

    def expire_in(self, seconds: float) -> None:
        self.stop()
        if not self.client.gone:
            self.timer = self.client.loop.call_later(
                seconds, self.client.guard, self.client.force, EXPIRED
            )

    def stop(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def send(self) -> None:
        """Send the answers for which there is an endpoint with credit."""
        for answer in list(self.answers):
            receiver, payload = answer
            if (sender := back_from(receiver)) is not None:
                tag = secrets.token_bytes(TAG_BYTES)
                sender.send(payload, tag=tag, settled=True)
                self.answers.remove(answer)
        self.flush()

    def flush(self) -> None:
        if self.client.login is None:
            self.client.flush()
        else:
            self.visit.write()


def back_from(receiver: Endpoint) -> Sender | None:
    """The sender of the same session that has credit for an answer."""
    for one in receiver.session.endpoints():
        if isinstance(one, Sender) and isinstance(one.context, Tokens) and one.credit:
            return one
    return None


class Tokens(End):
    """The ``End`` of an endpoint on the node ``$cbs``, in either direction."""

    kind = ClientEndpoint.Kind.PUTS
    node = NODE
    queue_id = None
    needs = None

    def __init__(self, claims: Claims, endpoint: Endpoint) -> None:
        self.claims = claims
        self.endpoint = endpoint

    def received(self, deliveries: Sequence[Delivery]) -> None:
        """Settle messages with tokens, and answer them later."""
        self.endpoint.session.settle(deliveries, p.Accepted())
        if isinstance(self.endpoint, Receiver):
            self.endpoint.grant(CREDIT)
        for one in deliveries:
            self.claims.client.spawn(self.claims.put(self.endpoint, one.payload))

    def flowed(self) -> None:
        self.claims.send()

    def resumed(self) -> None:
        self.claims.send()

    def detached(self, closed: bool) -> None:  # noqa: FBT001 - as of every End
        if self.claims.client.gone:
            self.claims.stop()

    def lost(self) -> None:
        self.claims.stop()

    def snapshot(self) -> Snapshot:
        return Snapshot(0, 0, 0, 0)
