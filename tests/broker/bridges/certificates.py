"""A certificate of a server that nobody but the tests trusts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

DAY = timedelta(days=1)


def make_certificates(folder: Path, host: str, password: str) -> Path:
    """Write ``keys.p12`` for a server at this address.

    Returns:
        The file with what its clients have to trust.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    protection = serialization.BestAvailableEncryption(password.encode())
    keys = pkcs12.serialize_key_and_certificates(
        b"server", key, certificate, None, protection
    )
    (folder / "keys.p12").write_bytes(keys)
    trusted = folder / "trusted.pem"
    trusted.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return trusted
