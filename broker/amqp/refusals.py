"""The broker's errors as AMQP conditions, in one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.amqp.protocol import conditions as c
from broker.amqp.protocol.conditions import AmqpError
from broker.amqp.protocol.types.types import Int, Symbol
from broker.errors import (
    BrokerError,
    InvalidMessage,
    LockLost,
    MessageTooLarge,
    NoSuchAddress,
    NoSuchQueue,
    UnitOfWorkEnded,
)
from broker.errors.messages import (
    InvalidSelector,
    MalformedHeader,
    MissingReplyTo,
    WrongExpiry,
    WrongPersistence,
    WrongReportOptions,
)
from broker.errors.queues import (
    DeliveryStopped,
    GetInhibited,
    MessageTooBigForQueue,
    NoModelQueue,
    NoSuchQueueManager,
    NoSuchSubscription,
    NotAuthorized,
    PutInhibited,
    QueueFull,
    SubscriptionInUse,
)
from broker.errors.units_of_work import (
    BackedOut,
    MarkNotPossible,
    SecondMark,
    TooMuchUncommitted,
)
from broker.security.authorities import Authority

if TYPE_CHECKING:
    from broker.amqp.clients.client import Client

SHOWN_BY: tuple[Authority, ...] = ("inquire", "get", "put", "browse")
LONGEST = 1000  # most characters of a description

CONDITIONS: dict[type[BrokerError], str] = {
    NoSuchAddress: c.NOT_FOUND,
    NoSuchQueue: c.NOT_FOUND,
    NoSuchQueueManager: c.NOT_FOUND,
    NoSuchSubscription: c.NOT_FOUND,
    NotAuthorized: c.UNAUTHORIZED_ACCESS,
    QueueFull: c.RESOURCE_LIMIT_EXCEEDED,
    TooMuchUncommitted: c.RESOURCE_LIMIT_EXCEEDED,
    MessageTooLarge: c.MESSAGE_SIZE_EXCEEDED,
    MessageTooBigForQueue: c.MESSAGE_SIZE_EXCEEDED,
    PutInhibited: c.NOT_ALLOWED,
    GetInhibited: c.NOT_ALLOWED,
    DeliveryStopped: c.NOT_ALLOWED,
    MarkNotPossible: c.NOT_IMPLEMENTED,
    SubscriptionInUse: c.RESOURCE_LOCKED,
    NoModelQueue: c.PRECONDITION_FAILED,
    InvalidMessage: c.INVALID_FIELD,
    InvalidSelector: c.INVALID_FIELD,
    MissingReplyTo: c.INVALID_FIELD,
    WrongExpiry: c.INVALID_FIELD,
    WrongPersistence: c.INVALID_FIELD,
    WrongReportOptions: c.INVALID_FIELD,
    MalformedHeader: c.DECODE_ERROR,
    # Not TRANSACTION_ROLLBACK, which JMS clients take for a commit whose result is
    # unknown.
    BackedOut: c.PRECONDITION_FAILED,
    LockLost: c.PRECONDITION_FAILED,
    SecondMark: c.PRECONDITION_FAILED,
    UnitOfWorkEnded: c.PRECONDITION_FAILED,
}


def lacking(
    client: Client, authority: Authority, name: str, missing: BrokerError
) -> BrokerError:
    """The error for a client that lacks an authority on a queue or address.

    A client with no authority on the name gets the error for a missing queue or
    address, so that it cannot learn which names exist.
    """
    is_shown = any(client.may(one, name) for one in SHOWN_BY)
    return NotAuthorized(client.actor, authority, name) if is_shown else missing


def refusal(error: Exception) -> AmqpError:
    """The AMQP error for an exception.

    The text of an unexpected exception is left out, as that text is for the log only.
    """
    if isinstance(error, AmqpError):
        return error
    if not isinstance(error, BrokerError):
        return AmqpError(c.INTERNAL_ERROR, "The broker had an error of its own.")
    known = (CONDITIONS[kind] for kind in type(error).__mro__ if kind in CONDITIONS)
    return AmqpError(
        next(known, c.INTERNAL_ERROR),
        str(error)[:LONGEST],
        {Symbol("code"): error.code, Symbol("reason"): Int(error.reason)},
    )
