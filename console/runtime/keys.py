"""The secret keys of a checkout, each a file that only its owner may read."""

from __future__ import annotations

import base64
import os
import secrets
from pathlib import Path


def make_secret_key(path: Path) -> None:
    """Write the key that signs sessions."""
    write_once(path, secrets.token_urlsafe(50))


def make_secret_keys(path: Path) -> None:
    """Write the key that encrypts passwords for other brokers.

    As ``Fernet.generate_key``; the launcher does not load that package.
    """
    write_once(path, base64.urlsafe_b64encode(secrets.token_bytes(32)).decode() + "\n")


def write_once(path: Path, text: str) -> None:
    """Write a file that only its owner may read, unless it exists."""
    if path.exists():
        return
    # renamed at the end, so that nobody reads an incomplete file
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(
        os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w"
    ) as file:
        file.write(text)
    new.replace(path)
