"""Login by a token (CBS), and renewal of the token later.

It takes the place of the SASL login, between the socket and the protocol engine. Until
a token is accepted, the client can attach to the node ``$cbs`` only.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Sequence

from broker.amqp.clients import cbs, permission_cache
from broker.amqp.clients.identity import Identity
from broker.amqp.clients.interfaces import ConnectedClient
from broker.amqp.interfaces import CBS, End, Snapshot
from broker.amqp.protocol import events
from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.conditions import UNAUTHORIZED_ACCESS, AmqpError
from broker.amqp.protocol.delivery import Delivery
from broker.amqp.protocol.endpoints import Endpoint, Receiver, Sender
from broker.models import ClientEndpoint
from broker.models.clients import Credential
from broker.security import credentials

logger = logging.getLogger(__name__)

CREDIT = 4  # tokens that a client may send before they are answered
TAG_BYTES = 16
WHO = f"Authenticate first: put a token on {cbs.NODE}."
EXPIRED = "The token has expired, and no newer one was sent."


class Visit:
    """The login step until a token is accepted; for the loop's thread."""

    def __init__(self, client: ConnectedClient) -> None:
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
        if getattr(terminus, "address", None) != cbs.NODE:
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
        asked = cbs.read(payload)
        async with self.running:
            status = cbs.BAD if asked.token is None else await self.judge(asked.token)
        if not self.client.gone or self.client.login is not None:
            self.answers.append((receiver, cbs.answer(asked, status)))
            self.send()

    async def judge(self, token: cbs.Token) -> int:
        now_s = self.client.listener.now().timestamp()
        credential = await self.client.listener.database(cbs.verify, token, now_s)
        if credential is None or not await self.is_welcome(credential):
            logger.info("A token for %r is refused.", token.name)
            return cbs.REFUSED
        self.expire_in(token.until - now_s)
        return cbs.GOOD

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
    node = cbs.NODE
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
