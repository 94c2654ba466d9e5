"""SASL mechanisms that clients may log in with."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from broker.amqp.clients import cbs
from broker.amqp.clients.addresses import is_here
from broker.amqp.protocol.sasl import server


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
