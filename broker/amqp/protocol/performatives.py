"""All composite types; encoding and decoding of the performatives, which begin
frames."""

from __future__ import annotations

from typing import get_args

from broker.amqp.protocol.conditions import DECODE_ERROR, AmqpError, Error
from broker.amqp.protocol.fast_performatives import (
    READERS,
    UNUSUAL,
    WRITERS,
    transfer_head,
)
from broker.amqp.protocol.sasl_frames import (
    SaslChallenge,
    SaslInit,
    SaslMechanisms,
    SaslOutcome,
    SaslResponse,
)
from broker.amqp.protocol.states import (
    Accepted,
    Declare,
    Declared,
    DeliveryState,
    Discharge,
    Modified,
    Outcome,
    Received,
    Rejected,
    Released,
    TransactionalState,
)
from broker.amqp.protocol.terminus import (
    Coordinator,
    DeleteOnClose,
    DeleteOnNoLinks,
    DeleteOnNoLinksOrMessages,
    DeleteOnNoMessages,
    Source,
    Target,
)
from broker.amqp.protocol.transport import (
    Attach,
    Begin,
    Close,
    Detach,
    Disposition,
    End,
    Flow,
    Open,
    Transfer,
)
from broker.amqp.protocol.types.composites import (
    composite_of,
    decode_composite,
    encode_composite,
)

__all__ = [
    "Accepted",
    "Attach",
    "Begin",
    "Close",
    "Coordinator",
    "Declare",
    "Declared",
    "DeleteOnClose",
    "DeleteOnNoLinks",
    "DeleteOnNoLinksOrMessages",
    "DeleteOnNoMessages",
    "DeliveryState",
    "Detach",
    "Discharge",
    "Disposition",
    "End",
    "Error",
    "Flow",
    "Modified",
    "Open",
    "Outcome",
    "Performative",
    "Received",
    "Rejected",
    "Released",
    "SaslChallenge",
    "SaslInit",
    "SaslMechanisms",
    "SaslOutcome",
    "SaslResponse",
    "Source",
    "Target",
    "TransactionalState",
    "Transfer",
    "composite_of",
    "decode_performative",
    "encode_performative",
    "transfer_head",
]

Performative = (
    Open
    | Begin
    | Attach
    | Flow
    | Transfer
    | Disposition
    | Detach
    | End
    | Close
    | SaslMechanisms
    | SaslInit
    | SaslChallenge
    | SaslResponse
    | SaslOutcome
)

PERFORMATIVES = get_args(Performative)


def encode_performative(performative: Performative) -> bytes:
    """Encode a performative.

    Raises:
        ValueError: a mandatory field is None, or a field has an invalid value.
    """
    write = WRITERS.get(type(performative))
    if write:
        try:
            return write(performative)
        except UNUSUAL:
            pass
    return encode_composite(performative)


def decode_performative(data: bytes, at: int, end: int) -> tuple[Performative, int]:
    """Decode a performative; return it and the offset of its end.

    Raises:
        AmqpError: with ``amqp:decode-error``; it is no performative, or ends after
            ``end``.
    """
    try:
        return READERS[data[at + 2]](data, at, end)
    except UNUSUAL:
        pass
    performative, at = decode_composite(data, at, end)
    if not isinstance(performative, PERFORMATIVES):
        name = type(performative).__name__
        raise AmqpError(DECODE_ERROR, f"No frame begins with {name}.")
    return performative, at
