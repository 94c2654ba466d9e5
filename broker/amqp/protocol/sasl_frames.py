"""The SASL frames, exchanged before a connection opens.

Source: AMQP 1.0, part 5, section 5.3.
"""

from __future__ import annotations

from broker.amqp.protocol.types.composites import composite


@composite(0x40, "sasl-mechanisms", "symbols")
class SaslMechanisms:
    sasl_server_mechanisms: tuple[str, ...]


@composite(0x41, "sasl-init", "symbol binary string")
class SaslInit:
    mechanism: str
    initial_response: bytes | None = None
    hostname: str | None = None


@composite(0x42, "sasl-challenge", "binary")
class SaslChallenge:
    challenge: bytes


@composite(0x43, "sasl-response", "binary")
class SaslResponse:
    response: bytes


@composite(0x44, "sasl-outcome", "ubyte binary")
class SaslOutcome:
    """``code``: 0 is success, 1 wrong credentials, 2 to 4 errors of the server."""

    code: int
    additional_data: bytes | None = None
