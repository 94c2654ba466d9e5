"""TLS: the server's certificate, and the names in certificates of clients."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

SUBJECT = "commonName"


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of PEM files. Without a certificate there is no TLS."""

    certificate: Path
    key: Path
    # CA of client certificates; None: client certificates are not accepted.
    client_ca: Path | None = None

    @classmethod
    def from_settings(cls) -> Certificates | None:
        """The files that the settings name; None if they name no certificate."""
        if not settings.BROKER_AMQP_CERTIFICATE:
            return None
        certificate = Path(settings.BROKER_AMQP_CERTIFICATE)
        client_ca = settings.BROKER_AMQP_CLIENT_CA
        return cls(
            certificate,
            Path(settings.BROKER_AMQP_KEY or certificate),
            Path(client_ca) if client_ca else None,
        )

    def context(self) -> ssl.SSLContext:
        """The TLS context of a server: TLS 1.2 and later.

        Raises:
            OSError: a file cannot be read, or has wrong contents.
        """
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key)
        if self.client_ca is not None:
            context.load_verify_locations(self.client_ca)
            context.verify_mode = ssl.CERT_OPTIONAL
        return context


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
