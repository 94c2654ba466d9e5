"""Claims-based security (CBS), for clients of Azure Service Bus.

A client connects as ANONYMOUS and then authenticates with a token. The token is signed
with the secret of a credential; the secret itself is not sent. The client puts it on
the node ``$cbs`` and gets the answer there. Until a token is accepted, the client can
use no other node, is counted as no user's, and has the time and bytes of a login. When
a token expires and no newer one came, the connection is closed.

Source:
    AMQP Claims-based Security 1.0 (OASIS, committee draft); "Service Bus access control
    with Shared Access Signatures" (Microsoft).
"""

from __future__ import annotations

import hmac
import re
from base64 import b64encode
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from broker.amqp.protocol import sections
from broker.amqp.protocol.sasl.server import ANONYMOUS, MSSBCBS
from broker.amqp.protocol.types.types import Int
from broker.models.clients import Credential
from broker.security import credentials

NODE = "$cbs"
MECHANISMS = (ANONYMOUS, MSSBCBS)
SCHEME = "SharedAccessSignature "
OPERATION = "put-token"
GOOD, BAD, REFUSED = 202, 400, 401
WORDS = {GOOD: "Accepted", BAD: "Bad request", REFUSED: "Unauthorized"}
SECONDS = re.compile("[0-9]{1,11}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Token:
    """A shared access signature."""

    name: str  # name of the credential
    audience: str  # the resource that the token is for, as the client wrote it
    until: int  # end of validity, in seconds since 1970
    signature: str  # in Base64

    def is_signed_with(self, key: bytes) -> bool:
        signed = f"{self.audience}\n{self.until}".encode()
        right = b64encode(hmac.digest(key, signed, "sha256"))
        return hmac.compare_digest(right, self.signature.encode())


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A message that a client puts on the node ``$cbs``."""

    id: Any  # the message id; the answer repeats it
    token: Token | None  # None: the token cannot be read


def read(payload: bytes) -> TokenRequest:
    """Decode a request.

    Raises:
        AmqpError: the payload is not a message.
    """
    found = sections.split(payload)
    properties = sections.properties_of(found.properties)
    said = {
        text(name): text(value)
        for name, value in sections.map_of(found.application_properties).items()
    }
    token = None
    if said.get("operation") == OPERATION:  # of any AMQP type
        token = parse(text(sections.body_of(found.body).value))
    return TokenRequest(properties.message_id, token)


def text(value: object) -> str:
    """A text, which Microsoft's clients sometimes write as binary."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else ""


def parse(text: str) -> Token | None:
    """Parse a token of the form ``SharedAccessSignature sr=…&sig=…&se=…&skn=…``."""
    if not text.startswith(SCHEME):
        return None
    parts = (one.partition("=") for one in text.removeprefix(SCHEME).split("&"))
    fields = {name: value for name, _, value in parts}
    if not fields.keys() >= {"skn", "sr", "se", "sig"}:
        return None
    if not SECONDS.fullmatch(fields["se"]):
        return None
    return Token(
        name=unquote_plus(fields["skn"]),
        audience=fields["sr"],
        until=int(fields["se"]),
        signature=unquote_plus(fields["sig"]),
    )


def verify(token: Token, now_s: float) -> Credential | None:
    """The valid credential that signed an unexpired token; runs in a thread.

    A secret is longer than a block of SHA-256, so HMAC uses its digest as the key; the
    stored digest is enough. The time taken does not reveal whether the name exists.

    Source:
        RFC 2104, section 2.
    """
    credential = credentials.find(token.name, None)
    kept = credentials.digest("") if credential is None else credential.secret_sha256
    if not token.is_signed_with(bytes(kept)) or token.until <= now_s:
        return None
    return credential


def answer(asked: TokenRequest, status: int) -> bytes:
    """Encode the answer to a request."""
    said = {"status-code": Int(status), "status-description": WORDS[status]}
    properties = sections.Properties(correlation_id=asked.id)
    return (
        sections.encode_section(sections.PROPERTIES, properties)
        + sections.encode_section(sections.APPLICATION_PROPERTIES, said)
        + sections.encode_section(sections.VALUE, None)
    )
