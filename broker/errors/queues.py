"""Errors of queues and subscriptions."""

from __future__ import annotations

from datetime import UTC, datetime

from broker.errors import BrokerError
from broker.errors.mq_codes import Reason


class QueueFull(BrokerError):
    """A queue has reached its max depth; nothing was stored."""

    code = "queue-full"
    reason = Reason.Q_FULL

    queue: str
    max_depth: int

    sentence = (
        "Queue {queue!r} is full: it may hold {max_depth:,} messages. Let its consumers"
        " catch up, or raise its max depth under Settings."
    )


class PutInhibited(BrokerError):
    """A queue is put-inhibited; nothing was stored."""

    code = "put-inhibited"
    reason = Reason.PUT_INHIBITED

    queue: str

    sentence = "Queue {queue!r} is put-inhibited. Allow puts under Settings."


class GetInhibited(BrokerError):
    """A queue is paused: get-inhibited."""

    code = "get-inhibited"
    reason = Reason.GET_INHIBITED

    queue: str

    sentence = "Queue {queue!r} is paused. Resume it to get messages."


class PauseEndPassed(BrokerError):
    """A queue cannot be paused until a time that is over; nothing was changed."""

    code = "pause-end-passed"

    queue: str
    until: datetime

    def __str__(self) -> str:
        return (
            f"Queue {self.queue!r} cannot be paused until"
            f" {self.until.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC: that is in the past."
            " Give a later time."
        )


class NoMessageUnderCursor(BrokerError):
    """A get of the browsed message found none; nothing was got.

    Source:
        IBM MQ, "2034 (RC2034): MQRC_NO_MSG_UNDER_CURSOR".
    """

    code = "no-message-under-cursor"
    reason = Reason.NO_MSG_UNDER_CURSOR

    queue: str

    sentence = (
        "There is no message under the browse cursor of queue {queue!r}: nothing was"
        " browsed yet, or the message was taken, or has expired. Browse the next"
        " message; lock it (LOCK) to be sure to get it."
    )


class MessageTooBigForQueue(BrokerError):
    """A message with its headers is above its queue's limit; nothing was stored."""

    code = "message-too-big-for-queue"
    reason = Reason.MSG_TOO_BIG_FOR_Q

    queue: str
    size_bytes: int
    limit_bytes: int

    sentence = (
        "The message has {size_bytes:,} bytes with its headers; the limit of queue"
        " {queue!r} is {limit_bytes:,}. Raise its max message bytes under Settings, or"
        " send less."
    )


class QueueNotEmpty(BrokerError):
    """A queue to delete holds messages; nothing was changed.

    Source:
        IBM MQ, "2055 (RC2055): MQRC_Q_NOT_EMPTY".
    """

    code = "queue-not-empty"
    reason = Reason.Q_NOT_EMPTY

    queue: str
    messages: int
    in_flight: int  # how many of these messages a consumer holds

    def __str__(self) -> str:
        one = self.messages == 1
        held = f"Queue {self.queue!r} holds {self.messages:,} message{'s'[one:]}"
        if self.in_flight:
            return (
                f"{held}, and consumers are processing {self.in_flight:,} of them."
                " Pause the queue, let the consumers end, and delete it then."
            )
        return (
            f"{held}. Let consumers take {'it' if one else 'them'}, or say that the"
            " queue is to be purged (--purge, purge): its messages then go to the"
            " discard bin."
        )


class NotAuthorized(BrokerError):
    """A principal lacks an authority on a queue; nothing was done."""

    code = "not-authorized"
    reason = Reason.NOT_AUTHORIZED

    principal: str
    authority: str
    queue: str
    is_told: bool = True  # whether the principal may learn the queue's name

    def __str__(self) -> str:
        which = f"queue {self.queue!r}" if self.is_told else "a queue that is not shown"
        return (
            f"{self.principal} lacks the authority {self.authority!r} on {which}."
            " An administrator can grant it under Settings, Authorities."
        )


class NoSuchQueueManager(BrokerError):
    """A message names a queue manager that is not this broker; nothing was stored."""

    code = "no-such-queue-manager"
    reason = Reason.UNKNOWN_REMOTE_Q_MGR

    name: str
    known: str

    sentence = (
        "There is no queue manager {name!r}; this broker is {known!r}. Use that name,"
        " or none."
    )


class NoModelQueue(BrokerError):
    """A subscription's model queue is missing or unsuitable; nothing was created."""

    code = "no-model-queue"
    reason = Reason.INVALID_DESTINATION

    model: str
    address: str

    sentence = (
        "Subscriptions to {address!r} are created from the model queue {model!r}, which"
        " does not exist or has the wrong type. Define it under Settings, or set"
        " another model queue for the address."
    )


class DeliveryStopped(BrokerError):
    """Delivery to ConnectionConsumers of a queue has stopped."""

    code = "delivery-stopped"
    reason = Reason.GET_INHIBITED

    queue: str
    why: str

    sentence = (
        "Delivery from queue {queue!r} has stopped: {why} Fix the cause, then start"
        " delivery again on the queue's page."
    )


class NoSuchConnection(BrokerError):
    """No client that the user may see has this connection, or this endpoint."""

    code = "no-such-connection"

    kind: str  # connection or endpoint
    number: int

    sentence = (
        "There is no {kind} {number} that you may see. It may have been closed already."
    )


class NoSuchRecurringMessage(BrokerError):
    """No recurring message that the user may see has this name."""

    code = "no-such-recurring-message"

    name: str

    sentence = "There is no recurring message {name!r}."


class NoSuchCredential(BrokerError):
    """No credential has this name."""

    code = "no-such-credential"

    name: str

    sentence = "There is no credential {name!r}."


class NoSuchSubscription(BrokerError):
    """A client has no durable subscription of that name."""

    code = "no-such-subscription"
    reason = Reason.NO_SUBSCRIPTION

    client_id: str
    name: str

    sentence = (
        "Client {client_id!r} has no durable subscription {name!r}. Correct the name,"
        " or subscribe first."
    )


class SubscriptionInUse(BrokerError):
    """A subscription cannot be deleted while it has a consumer; it stays."""

    code = "subscription-in-use"
    reason = Reason.SUBSCRIPTION_IN_USE

    client_id: str
    name: str

    sentence = (
        "The durable subscription {name!r} of client {client_id!r} is in use. Close its"
        " consumer, end its unit of work, and try again."
    )


class CauseRemains(BrokerError):
    """Delivery would stop again immediately; it was not started."""

    code = "cause-remains"
    reason = Reason.GET_INHIBITED

    queue: str
    why: str

    sentence = (
        "Delivery from queue {queue!r} cannot start yet, because it would stop again"
        " immediately. {why}"
    )
