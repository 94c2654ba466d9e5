"""Notifications as JSON to a URL, signed.

Source:
    Standard Webhooks, specification 1.0: the headers webhook-id, webhook-timestamp and
    webhook-signature.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

from broker.alerts.outbound import post
from broker.alerts.secrets import secret_of
from broker.models import AlertTarget

PREFIX = "whsec_"


def send(target: AlertTarget, said: Mapping[str, Any], key: str) -> str:
    public = {name: value for name, value in said.items() if name != "target"}
    body = json.dumps(public, ensure_ascii=False).encode()
    sent_at = str(int(time.time()))  # receivers compare it with their own clock
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Backout",
        "webhook-id": key,
        "webhook-timestamp": sent_at,
        "webhook-signature": signature(secret_of(target), key, sent_at, body),
    }
    return str(post(target.address, body, headers))


def signature(secret: str, key: str, sent_at: str, body: bytes) -> str:
    """The value of the header webhook-signature."""
    signed = b".".join([key.encode(), sent_at.encode(), body])
    digest = hmac.new(key_of(secret), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def key_of(secret: str) -> bytes:
    """The bytes of a secret: base64 after ``whsec_``.

    Raises:
        ValueError: it is no such secret.
    """
    try:
        found = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        found = b""
    if not secret.startswith(PREFIX) or not 24 <= len(found) <= 64:
        raise ValueError(
            "Give whsec_ and 24 to 64 bytes in base64, such as the output of:"
            " echo whsec_$(openssl rand -base64 32)"
        )
    return found
