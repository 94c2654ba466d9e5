"""SASL login of one client, before the AMQP connection."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import Error as DatabaseError

from broker.amqp.clients import cbs, permission_cache
from broker.amqp.clients.addresses import is_here
from broker.amqp.clients.cbs import Visit
from broker.amqp.clients.identity import Identity
from broker.amqp.protocol.sasl import server
from broker.models.clients import Credential
from broker.sql import database_now
from broker.sql.threads import DatabaseAway

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

logger = logging.getLogger(__name__)

SUBJECT = "commonName"
# Reasons of refused logins, for the log only: the client is told none.
NO_NAME = "there is no credential or user of this name"
REVOKED = "the credential is revoked"
EXPIRED = "the credential has expired"
INACTIVE = "the user is not active"
CREDENTIAL_REFUSED = "the secret of the credential is wrong"
USER_REFUSED = (
    "the password of the user is wrong, there were too many wrong ones, or a second"
    " factor is needed"
)
NO_ACCESS = "the credential or user is no longer valid"


@dataclass(frozen=True, slots=True)
class Access:
    """SASL mechanisms that clients may log in with.

    Attributes:
        plain_without_tls: allow PLAIN on connections without TLS; None allows it from
            this machine only.
        scram: offer SCRAM-SHA-256, which works for credentials only; None offers it
            where PLAIN is not offered. Clients that support it prefer it.
        cbs: let clients connect as ANONYMOUS and authenticate later with a token.
    """

    plain_without_tls: bool | None = None
    scram: bool | None = None
    cbs: bool = False

    @classmethod
    def from_settings(cls) -> Access:
        return cls(
            settings.BROKER_AMQP_PLAIN_WITHOUT_TLS,
            settings.BROKER_AMQP_SCRAM,
            settings.BROKER_AMQP_CBS,
        )

    def mechanisms(self, ip: str, *, encrypted: bool, certified: bool) -> list[str]:
        """Mechanisms to offer, the strongest first.

        Args:
            ip: the client's IP address.
            encrypted: whether the connection uses TLS.
            certified: whether the client sent a certificate, and it was verified.
        """
        without = self.plain_without_tls
        has_plain = encrypted or (is_here(ip) if without is None else without)
        has_scram = not has_plain if self.scram is None else self.scram
        return [
            name
            for name, is_offered in (
                (server.EXTERNAL, certified),
                (server.PLAIN, has_plain),
                (server.SCRAM, has_scram),
                *((name, self.cbs and has_plain) for name in cbs.MECHANISMS),
            )
            if is_offered
        ]


class Login:
    """The SASL exchange with one client. Bytes after the exchange are kept for the
    engine."""

    def __init__(self, client: Client) -> None:
        self.client = client
        certificate = client.transport.get_extra_info("peercert")
        self.certified = common_name(certificate)
        self.taken = 0  # bytes received
        self.task: asyncio.Task[None] | None = None  # task that answers the client
        self.early = b""  # bytes received while ``task`` runs
        self.sasl = server.ServerSasl(
            client.listener.access.mechanisms(
                client.ip,
                encrypted=client.is_encrypted,
                certified=self.certified is not None,
            )
        )

    def take_turn(self) -> None:
        """Begin now, or later if many others log in at this moment."""
        client = self.client
        line = client.listener.line
        if client.has_turn or line.join(client, client.transport, self.begin):
            self.begin()
        else:
            client.hearing.hold("turn")

    def begin(self) -> None:
        self.client.hearing.release("turn")
        self.client.await_login()
        if self.client.early:
            self.client.data_received(self.client.early)

    def receive(self, data: bytes) -> None:
        """Handle received bytes; keep those that come before the answer.

        The socket is still read meanwhile, so that the end of a client is noticed.
        """
        if self.is_ours:
            self.early += data
            # Pause reading, so that ``early`` grows no further.
            self.client.hearing.hold("login")
            return
        self.taken += len(data)
        if self.taken > self.client.limits.login_bytes:
            self.refuse("it sent too many bytes")
        else:
            self.go_on(self.sasl.receive(data))

    def go_on(self, question: server.Question | None) -> None:
        self.write()
        if isinstance(question, server.Denied):
            self.refuse(str(question.error))
        elif question is not None:
            self.task = self.client.spawn(self.answer(question))

    @property
    def is_ours(self) -> bool:
        """Whether the client waits for an answer of the listener."""
        return self.task is not None

    def leave(self) -> None:
        """Cancel the task, as the client has disconnected."""
        if self.task is not None:
            self.task.cancel()

    def write(self) -> None:
        if data := self.sasl.outgoing():
            self.client.transport.write(data)

    def refuse(self, why: str) -> None:
        client, name = self.client, self.sasl.user
        logger.info("Login of %r from %s refused: %s", name, client.address, why)
        self.sasl.deny()
        self.write()
        client.turn_away()

    async def answer(self, question: server.Question) -> None:
        """Query the database, and continue."""
        try:
            await self.answered(question)
        except (DatabaseAway, DatabaseError) as error:
            if not self.client.gone:
                self.sasl.deny(server.OUR_TROUBLE)
                self.refuse(f"the database is away: {error}")
        finally:
            if self.task is asyncio.current_task():
                self.task = None
                self.go_on_reading()

    def go_on_reading(self) -> None:
        early, self.early = self.early, b""
        self.client.hearing.release("login")
        if early and not self.client.gone:
            self.client.receive(early)

    async def answered(self, question: server.Question) -> None:
        if isinstance(question, server.WantsKeys):
            keys = await self.client.listener.identities.scram(question.user)
            self.sasl.challenge(keys)
            self.go_on(self.sasl.receive(b""))
            return
        if isinstance(question, server.Anonymous):
            self.let_visit()
            return
        identity = await self.identify(question)
        held = None
        if identity is not None:
            held = await self.client.listener.database(
                permission_cache.held_by, identity
            )
        if self.client.gone:
            return
        if identity is None or held is None:
            await self.refuse_for_its_reason(is_known=identity is not None)
        else:
            self.sasl.accept()
            self.write()
            self.client.logged_in(identity, held, self.sasl.rest())

    async def refuse_for_its_reason(self, *, is_known: bool) -> None:
        """Refuse the login at once; its reason is looked up for the log."""
        name, address = self.sasl.user, self.client.address
        # A client that hangs up must not cancel this task, which logs the reason.
        self.task = None
        self.sasl.deny()
        self.write()
        self.client.turn_away()
        why = NO_ACCESS
        if not is_known:
            why = await self.client.listener.database(reason_of, name)
        logger.info("Login of %r from %s refused: %s", name, address, why)

    def let_visit(self) -> None:
        """Accept ANONYMOUS; the client authenticates later, by a token."""
        self.sasl.accept()
        self.write()
        self.client.login = visit = Visit(self.client)
        visit.receive(self.sasl.rest())

    async def identify(self, question: server.Question) -> Identity | None:
        identities = self.client.listener.identities
        match question:
            case server.Plain(name, password):
                return await identities.plain(name, password, self.client.host)
            case server.Proven(name):
                return await identities.proven(name)
            case server.External(name) if self.certified and name in (
                "",
                self.certified,
            ):
                return await identities.external(self.certified)
        return None


def reason_of(name: str) -> str:
    """Why a name could not log in, as far as the database knows. Three queries."""
    name = name.replace("\0", "")
    credential = Credential.objects.select_related("user").filter(name=name).first()
    if credential is not None:
        if credential.revoked_at is not None:
            return REVOKED
        if credential.expires_at and credential.expires_at <= database_now():
            return EXPIRED
        return CREDENTIAL_REFUSED if credential.user.is_active else INACTIVE
    users = get_user_model()
    user = users._default_manager.filter(**{users.USERNAME_FIELD: name}).first()
    if user is None:
        return NO_NAME
    return USER_REFUSED if user.is_active else INACTIVE


def common_name(certificate: dict[str, Any] | None) -> str | None:
    """The common name of a certificate's subject, if there is exactly one.

    Args:
        certificate: the peer's verified certificate, as ``ssl`` gives it.
    """
    names = [
        value
        for part in (certificate or {}).get("subject", ())
        for name, value in part
        if name == SUBJECT
    ]
    return names[0] if len(names) == 1 and names[0] else None
