"""By what clients may log in."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings

from broker.amqp.clients import cbs
from broker.amqp.clients.addresses import is_here
from broker.amqp.protocol.sasl import server


@dataclass(frozen=True, slots=True)
class Access:
    """By what clients may log in.

    Attributes:
        plain_without_tls: passwords where others may read them; None is from this
            machine only.
        scram: SCRAM-SHA-256, which is for credentials alone, and which clients that
            know it prefer; None is where PLAIN is not to be had.
        cbs: clients may connect as nobody, and say later who they are, by a token.
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
        """What is offered, the best first.

        Args:
            ip: of the client.
            encrypted: by TLS.
            certified: whether it showed a certificate, which was verified.
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
