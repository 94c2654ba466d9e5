"""Error conditions of AMQP 1.0, and the exception that carries one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

INTERNAL_ERROR = "amqp:internal-error"
NOT_FOUND = "amqp:not-found"
UNAUTHORIZED_ACCESS = "amqp:unauthorized-access"
DECODE_ERROR = "amqp:decode-error"
RESOURCE_LIMIT_EXCEEDED = "amqp:resource-limit-exceeded"
NOT_ALLOWED = "amqp:not-allowed"
INVALID_FIELD = "amqp:invalid-field"
NOT_IMPLEMENTED = "amqp:not-implemented"
RESOURCE_LOCKED = "amqp:resource-locked"
PRECONDITION_FAILED = "amqp:precondition-failed"
RESOURCE_DELETED = "amqp:resource-deleted"
ILLEGAL_STATE = "amqp:illegal-state"
FRAME_SIZE_TOO_SMALL = "amqp:frame-size-too-small"

CONNECTION_FORCED = "amqp:connection:forced"
FRAMING_ERROR = "amqp:connection:framing-error"
CONNECTION_REDIRECT = "amqp:connection:redirect"

WINDOW_VIOLATION = "amqp:session:window-violation"
ERRANT_LINK = "amqp:session:errant-link"
HANDLE_IN_USE = "amqp:session:handle-in-use"
UNATTACHED_HANDLE = "amqp:session:unattached-handle"

DETACH_FORCED = "amqp:link:detach-forced"
TRANSFER_LIMIT_EXCEEDED = "amqp:link:transfer-limit-exceeded"
MESSAGE_SIZE_EXCEEDED = "amqp:link:message-size-exceeded"
LINK_REDIRECT = "amqp:link:redirect"
STOLEN = "amqp:link:stolen"

UNKNOWN_TRANSACTION = "amqp:transaction:unknown-id"
TRANSACTION_ROLLBACK = "amqp:transaction:rollback"
TRANSACTION_TIMEOUT = "amqp:transaction:timeout"


@dataclass(slots=True)
class Error:
    """An AMQP error as it is sent to the peer."""

    condition: str
    description: str | None = None
    info: dict[Any, Any] | None = None


class AmqpError(Exception):
    """The peer broke a rule, or its request is refused.

    Args:
        condition: a constant of this module.
        description: a sentence for people; it is sent to the peer.
        info: further data for programs, by symbol.
    """

    def __init__(
        self,
        condition: str,
        description: str = "",
        info: dict[Any, Any] | None = None,
    ) -> None:
        super().__init__(condition, description, info)
        self.condition = condition
        self.description = description
        self.info = info

    def __str__(self) -> str:
        return f"{self.description} ({self.condition})"

    def as_error(self) -> Error:
        return Error(self.condition, self.description or None, self.info)
