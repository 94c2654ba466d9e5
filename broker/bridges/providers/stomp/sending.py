"""Sending of messages, and their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from stomp.utils import Frame

from broker.bridges.providers.stomp import refusals
from broker.bridges.providers.stomp.connection import WINDOW, StompConnection
from broker.bridges.providers.stomp.messages import Cannot, StompFrame, to_frame
from broker.bridges.providers.stomp.transactions import Transaction
from broker.errors.bridges import ProviderLost, SendRefused, WrongFactory
from broker.queueing.store import NewMessage

Outcomes = list[SendRefused | None]  # for each message: None if it was accepted


def send(
    connection: StompConnection,
    messages: Sequence[NewMessage],
    named: str,
    transaction: Transaction | None,
) -> Outcomes:
    """Send a batch; see ``interface.Session.send``.

    Args:
        named: the server's name of the destination.
        transaction: the open transaction, if any.
    """
    now = datetime.now(UTC)
    frames = [frame_of(connection, one, named, now) for one in messages]
    sent = [one for one in frames if isinstance(one, StompFrame)]
    outcomes = iter(outcomes_of(connection, sent, named, transaction))
    return [one if isinstance(one, SendRefused) else next(outcomes) for one in frames]


def frame_of(
    connection: StompConnection, message: NewMessage, named: str, now: datetime
) -> StompFrame | SendRefused:
    options = connection.options
    try:
        return to_frame(message, named, connection.dialect, options.queue_prefix, now)
    except Cannot as why:
        return SendRefused(options.name, str(why))


def outcomes_of(
    connection: StompConnection,
    frames: Sequence[StompFrame],
    named: str,
    transaction: Transaction | None,
) -> Outcomes:
    """Send frames; without receipts in a transaction, if the receipt of COMMIT is
    enough."""
    if connection.dialect.commit_tells and transaction is not None:
        send_unanswered(connection, frames, transaction)
        return [None] * len(frames)
    if connection.dialect.commit_tells and len(frames) > 1:
        own = Transaction(connection)
        send_unanswered(connection, frames, own)
        if own.answer_to_commit().cmd == "RECEIPT":
            return [None] * len(frames)
    return send_answered(connection, frames, named, transaction)


def send_unanswered(
    connection: StompConnection, frames: Sequence[StompFrame], transaction: Transaction
) -> None:
    for start in range(0, len(frames), WINDOW):
        for one in frames[start : start + WINDOW]:
            connection.tell("SEND", one.headers | transaction.headers, one.body)


def send_answered(
    connection: StompConnection,
    frames: Sequence[StompFrame],
    named: str,
    transaction: Transaction | None,
) -> Outcomes:
    """Send each frame with a receipt, to learn which are refused."""
    within = {} if transaction is None else transaction.headers
    outcomes: Outcomes = []
    if transaction is None:
        connection.forget_error()
    for start in range(0, len(frames), WINDOW):
        some = frames[start : start + WINDOW]
        try:
            answers = connection.wait(
                [connection.ask("SEND", one.headers | within, one.body) for one in some]
            )
        except ProviderLost as lost:
            return [*outcomes, at_the_end(connection, len(some), named, lost)]
        outcomes += [outcome(connection, answer, named) for answer in answers]
    return outcomes


def at_the_end(
    connection: StompConnection, count: int, named: str, lost: ProviderLost
) -> SendRefused:
    """The refusal of a single message for which the server ended the connection.

    Raises:
        ProviderLost: the server gave no error, or there were several messages.
        WrongFactory: it is the destination that cannot be used.
    """
    if connection.error is None:
        raise lost
    refused = refusals.at_send(connection.options, connection.error, named)
    if isinstance(refused, WrongFactory):
        raise refused from lost
    if count > 1:
        raise lost
    return refused


def outcome(
    connection: StompConnection, answer: Frame, named: str
) -> SendRefused | None:
    """The outcome of a message.

    Raises:
        WrongFactory: the destination cannot be used.
    """
    if answer.cmd == "RECEIPT":
        return None
    refused = refusals.at_send(connection.options, answer, named)
    if isinstance(refused, WrongFactory):
        raise refused
    return refused
