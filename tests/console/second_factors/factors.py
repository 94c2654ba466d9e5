"""People with a second factor, and codes of their apps at any time."""

from __future__ import annotations

import base64
import hmac
import json
import re
import secrets
import struct
import time
from hashlib import sha1, sha256
from typing import Any
from urllib.parse import urlsplit

from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from allauth.mfa.webauthn.internal.auth import WebAuthn
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    Aaguid,
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
STEP_S = 30
PASSWORD = "correct horse"
Asked = dict[str, Any]  # what a page asks a key


def code_at(at: float, secret: str = SECRET) -> str:
    """The code that an app shows at a time, by RFC 6238."""
    counter = struct.pack(">Q", int(at) // STEP_S)
    digest = hmac.digest(base64.b32decode(secret), counter, sha1)
    (number,) = struct.unpack_from(">I", digest, digest[-1] & 15)
    return f"{(number & 0x7FFFFFFF) % 10**6:06}"


def code_now(secret: str = SECRET, *, steps: int = 0) -> str:
    """The code of now, or of so many steps later; one is taken, either way."""
    return code_at(time.time() + steps * STEP_S, secret)


def wrong_code() -> str:
    """A code that is none of those that are taken now."""
    good = {code_now(steps=steps) for steps in (-2, -1, 0, 1, 2)}
    return next(one for one in ("000000", "000001", "000002") if one not in good)


def give_app(user: User) -> None:
    TOTP.activate(user, SECRET)


def give_codes(user: User) -> list[str]:
    codes: list[str] = RecoveryCodes.activate(user).generate_codes()
    return codes


class SoftKey:
    """A security key of software, which answers as browsers pass it on.

    Args:
        origin: of the pages that ask it, as its browser sees them.
    """

    def __init__(self, origin: str = "https://testserver") -> None:
        self.origin = origin
        self.rp_id_hash = sha256((urlsplit(origin).hostname or "").encode()).digest()
        self.id = secrets.token_bytes(16)
        self.private = ec.generate_private_key(ec.SECP256R1())
        self.counter = 0

    def added(self, options: Asked) -> str:
        """What it says when it is added."""
        public = ES256.from_cryptography_key(  # type: ignore[no-untyped-call]
            self.private.public_key()
        )
        known = AttestedCredentialData.create(Aaguid.NONE, self.id, public)
        flags = AuthenticatorData.FLAG.UP | AuthenticatorData.FLAG.AT
        data = AuthenticatorData.create(self.rp_id_hash, flags, 0, known)
        whole = AttestationObject.create("none", data, {})
        said = self.client_data("webauthn.create", options)
        return self.told(clientDataJSON=said, attestationObject=whole)

    def answer(self, options: Asked) -> str:
        """What it says when somebody touches it."""
        self.counter += 1
        flags = AuthenticatorData.FLAG.UP
        data = AuthenticatorData.create(self.rp_id_hash, flags, self.counter)
        said = self.client_data("webauthn.get", options)
        signed = self.private.sign(data + said.hash, ec.ECDSA(SHA256()))
        return self.told(clientDataJSON=said, authenticatorData=data, signature=signed)

    def client_data(self, kind: str, options: Asked) -> CollectedClientData:
        challenge = options["publicKey"]["challenge"]
        return CollectedClientData.create(kind, challenge, self.origin)

    def told(self, **response: bytes) -> str:
        """As ``PublicKeyCredential.toJSON`` has it."""
        name = websafe_encode(self.id)
        said = {one: websafe_encode(value) for one, value in response.items()}
        rest = {"type": "public-key", "clientExtensionResults": {}}
        return json.dumps({"id": name, "rawId": name, "response": said, **rest})


def give_key(user: User, name: str = "Blue key") -> SoftKey:
    key = SoftKey()
    challenge = websafe_encode(secrets.token_bytes(32))
    said = key.added({"publicKey": {"challenge": challenge}})
    WebAuthn.add(user, name, json.loads(said))
    return key


def give_password(client: Client, user: User, **said: str) -> str:
    """Sign in with the password; where that leads to."""
    said = {"username": user.username, "password": PASSWORD} | said
    answer = client.post(reverse("account_login"), said)
    assert answer.status_code == 302
    return answer["Location"]


def give_password_again(client: Client) -> None:
    """What is about to be done takes it, of whoever did not sign in a moment ago."""
    client.post(reverse("account_reauthenticate"), {"password": PASSWORD})


def secret_on(page: str) -> str:
    """The secret that a page shows as text."""
    found = re.search(r'class="mono secret"[^>]*>([A-Z2-7]{32})<', page)
    assert found
    return found[1]
