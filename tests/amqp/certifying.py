"""Certificates for one run of the tests, made by OpenSSL."""

from __future__ import annotations

import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from broker.amqp.clients.tls import Certificates

NEW = (
    *("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
    # Python 3.13 asks for it in each certificate that OpenSSL makes an authority's.
    *("-addext", "keyUsage=critical,digitalSignature,keyCertSign"),
)


@dataclass(frozen=True)
class Certified:
    """Files of an authority of ours, and of those that it has signed."""

    folder: Path

    @property
    def server(self) -> Certificates:
        """Of a server that asks clients for theirs."""
        return Certificates(
            self.folder / "localhost.pem",
            self.folder / "localhost.key",
            self.folder / "authority.pem",
        )

    def context(self, client: str | None = None) -> ssl.SSLContext:
        """Of a client that trusts the authority, and perhaps has a certificate."""
        context = ssl.create_default_context(cafile=self.folder / "authority.pem")
        if client is not None:
            self.sign(client)
            context.load_cert_chain(
                self.folder / f"{client}.pem", self.folder / f"{client}.key"
            )
        return context

    def sign(self, name: str, authority: str = "authority") -> None:
        """Give somebody a certificate."""
        alternative = f"-addext=subjectAltName=DNS:{name}".split("=", 1)
        openssl(
            self.folder,
            *("req", "-x509", *NEW, "-days", "2", "-subj", f"/CN={name}", *alternative),
            *("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key"),
            *("-keyout", f"{name}.key", "-out", f"{name}.pem"),
        )


def certify(folder: Path) -> Certified:
    """Make an authority, and what it signs for the server; and a stranger's."""
    for authority in ("authority", "stranger"):
        openssl(
            folder,
            *("req", "-x509", *NEW, "-days", "2", "-subj", f"/CN={authority}"),
            *("-keyout", f"{authority}.key", "-out", f"{authority}.pem"),
        )
    made = Certified(folder)
    made.sign("localhost")
    return made


def openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)
