"""SCRAM-SHA-256: both sides prove that they know a password without sending it.

The server stores keys, from which the password cannot be computed.

Source: RFC 5802 and RFC 7677; without channel binding.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from base64 import b64decode, b64encode
from dataclasses import dataclass

from broker.amqp.protocol.conditions import UNAUTHORIZED_ACCESS, AmqpError
from broker.amqp.protocol.sasl.saslprep import prepare

MECHANISM = "SCRAM-SHA-256"
ITERATIONS = 4096  # for keys that are made here; the minimum of RFC 7677
MOST_ITERATIONS = 1_000_000  # most iterations accepted in a server's challenge
NONCE_BYTES = 18
SALT_BYTES = 16
# First field of a client's message: the client does not support channel binding (n),
# or thinks that we do not (y).
NO_BINDING = ("n", "y")
CLIENT, SERVER = b"Client Key", b"Server Key"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a password, which the server stores instead of the password."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes


def keys(
    password: str, *, salt: bytes | None = None, iterations: int = ITERATIONS
) -> Keys:
    """The keys of a password.

    Args:
        salt: the salt of existing keys; by default a new salt.
    """
    salt = salt or secrets.token_bytes(SALT_BYTES)
    salted = stretch(password, salt, iterations)
    return Keys(salt, iterations, digest(sign(salted, CLIENT)), sign(salted, SERVER))


def decoy(user: str, secret: bytes) -> Keys:
    """Keys for an unknown user, that no password matches; the salt is always the same.

    So a client cannot find out which users exist.

    Args:
        secret: a lasting secret of the server.
    """
    seed = sign(secret, user.encode())
    unknown = secrets.token_bytes(len(seed))
    return Keys(seed[:SALT_BYTES], ITERATIONS, unknown, unknown)


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def sign(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def stretch(password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", prepare(password).encode(), salt, iterations)


def xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))


class ScramServer:
    """The server's side of one exchange: ``first``, ``challenge``, ``final``."""

    def __init__(self, nonce: str | None = None) -> None:
        self.nonce = nonce or new_nonce()
        self.keys: Keys | None = None
        self.header = ""  # the header of GS2; the client repeats it
        self.bare = ""

    def first(self, message: bytes) -> str:
        """Parse the client's first message.

        Returns:
            The user's name, normalized.

        Raises:
            AmqpError: it is malformed, or asks for an unsupported feature.
        """
        binding, _, rest = text(message).partition(",")
        authority, _, self.bare = rest.partition(",")
        if binding not in NO_BINDING or authority:
            raise refusal("channel binding or another identity was asked for")
        said = attributes(self.bare, "n", "r")
        self.header = f"{binding},{authority},"
        self.nonce = said["r"] + self.nonce
        return prepare(unescape(said["n"]))

    def challenge(self, keys: Keys) -> bytes:
        """The server's first message, with the user's salt and iterations."""
        self.keys = keys
        salt = b64encode(keys.salt).decode()
        self.asked = f"r={self.nonce},s={salt},i={keys.iterations}"
        return self.asked.encode()

    def final(self, message: bytes) -> bytes:
        """Verify the client's final message.

        Returns:
            The server's final message, which proves that it knows the user.

        Raises:
            AmqpError: the password is wrong, or the message malformed.
        """
        assert self.keys is not None, "challenge comes before"
        unproved, _, proved = text(message).rpartition(",p=")
        said = attributes(unproved, "c", "r")
        if raw(said["c"]) != self.header.encode() or said["r"] != self.nonce:
            raise refusal("the exchange is another")
        signed = f"{self.bare},{self.asked},{unproved}".encode()
        proof = raw(proved)
        mask = sign(self.keys.stored_key, signed)
        if len(proof) != len(mask):
            raise refusal("a proof of another length")
        client_key = xor(proof, mask)
        if not hmac.compare_digest(digest(client_key), self.keys.stored_key):
            raise refusal("the password is another")
        return b"v=" + b64encode(sign(self.keys.server_key, signed))


class ScramClient:
    """The client's side of one exchange: ``first``, ``respond``, ``verify``."""

    def __init__(self, user: str, password: str, nonce: str | None = None) -> None:
        self.password = password
        self.nonce = nonce or new_nonce()
        self.bare = f"n={escape(prepare(user))},r={self.nonce}"
        self.expected = b""

    def first(self) -> bytes:
        return b"n,," + self.bare.encode()

    def respond(self, challenge: bytes) -> bytes:
        """Answer the server's first message.

        Raises:
            AmqpError: the message is malformed, or asks for too few or too many
                iterations.
        """
        said = attributes(text(challenge), "r", "s", "i")
        iterations = whole(said["i"])
        if not said["r"].startswith(self.nonce) or said["r"] == self.nonce:
            raise refusal("the server's nonce does not go on from ours")
        if not ITERATIONS <= iterations <= MOST_ITERATIONS:
            raise refusal(f"{iterations} iterations")
        salted = stretch(self.password, raw(said["s"]), iterations)
        unproved = f"c={b64encode(b'n,,').decode()},r={said['r']}"
        signed = f"{self.bare},{text(challenge)},{unproved}".encode()
        client_key = sign(salted, CLIENT)
        proof = xor(client_key, sign(digest(client_key), signed))
        self.expected = sign(sign(salted, SERVER), signed)
        return f"{unproved},p={b64encode(proof).decode()}".encode()

    def verify(self, message: bytes) -> None:
        """Verify the server's final message.

        Raises:
            AmqpError: the server does not know the user.
        """
        proof = raw(attributes(text(message), "v")["v"])
        if not self.expected or not hmac.compare_digest(proof, self.expected):
            raise refusal("the server does not know the password")


def new_nonce() -> str:
    return b64encode(secrets.token_bytes(NONCE_BYTES)).decode()


def refusal(why: str) -> AmqpError:
    return AmqpError(UNAUTHORIZED_ACCESS, f"SCRAM: {why}")


def text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise refusal("a message that is not UTF-8") from None


def raw(value: str) -> bytes:
    try:
        return b64decode(value, validate=True)
    except ValueError:
        raise refusal("a value that is not base 64") from None


def whole(digits: str) -> int:
    """A number of iterations; 0 if the text is no number, or is too long."""
    plausible = digits.isdecimal() and len(digits) <= len(str(MOST_ITERATIONS))
    return int(digits) if plausible else 0


def attributes(message: str, *names: str) -> dict[str, str]:
    """The attribute values of a message; its first attributes must have these names, in
    order."""
    parts = [part.partition("=") for part in message.split(",")]
    found = tuple(name for name, _, _ in parts[: len(names)])
    if found != names or not all(value for _, _, value in parts[: len(names)]):
        raise refusal(f"a message without {', '.join(names)}")
    return {name: value for name, _, value in parts[: len(names)]}


def escape(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def unescape(name: str) -> str:
    plain = name.replace("=2C", "").replace("=3D", "")
    if "=" in plain:
        raise refusal("a name with a bare =")
    return name.replace("=2C", ",").replace("=3D", "=")
