"""Errors of units of work."""

from __future__ import annotations

from datetime import timedelta

from broker.errors import BrokerError
from broker.errors.mq_codes import Completion, GetOptions, Reason

LONGEST_DELAY = timedelta(days=3650)


class BackedOut(BrokerError):
    """A commit failed; the unit of work was backed out.

    Source:
        IBM MQ, "2003 (RC2003): MQRC_BACKED_OUT": of a commit it is a warning.
    """

    code = "backed-out"
    reason = Reason.BACKED_OUT
    completion = Completion.WARNING

    why: str

    sentence = (
        "The unit of work could not be committed and was backed out: {why} Its gets are"
        " available again, and its puts were not sent."
    )


class NoSuchUnitOfWork(BrokerError):
    """A call named a unit of work that is not open."""

    code = "no-such-unit-of-work"

    uow: int

    sentence = "Unit of work {uow} has ended, or there is none that you may see."


class TransactionLeftOpen(BrokerError):
    """A handler returned within a transaction of the database that it has begun; the
    transaction was rolled back, and the unit of work backed out."""

    code = "transaction-left-open"

    sentence = (
        "The work ended in a transaction of the database that it did not commit: it"
        " began one, or left autocommit off. What it wrote there was rolled back. Use"
        " transaction.atomic(), or commit, and set autocommit on again."
    )


class Reject(Exception):
    """Raised by a handler whose messages must not be redelivered.

    Its unit of work is backed out, and all its messages become dead letters at once,
    however many attempts are left. Its text is for operators. See
    ``broker.settlement.outcomes``.
    """


class RedeliverIn(Exception):
    """Raised by a handler whose messages are to be redelivered after this delay; None
    is that of the settings. Raise it from the error, which operators see::

        raise RedeliverIn(timedelta(minutes=5)) from error

    The attempt counts; after the last, the messages become dead letters as usual.

    Raises:
        TypeError: the delay is no timedelta.
        ValueError: it is negative, or longer than ``LONGEST_DELAY``.
    """

    def __init__(self, delay: timedelta | None = None) -> None:
        if not isinstance(delay, timedelta | None):
            raise TypeError(f"The delay of RedeliverIn is a timedelta, not {delay!r}.")
        if delay is not None and not timedelta(0) <= delay <= LONGEST_DELAY:
            raise ValueError(f"RedeliverIn cannot wait for {delay}.")
        super().__init__(delay)
        self.delay = delay

    sentence = "redelivered after {delay}"


class NotForced(BrokerError):
    """An operator cannot force this unit of work to end; nothing was done."""

    code = "not-forced"
    REMEDIES = {
        "prepared": "It is prepared and waits for its coordinator. If the coordinator"
        " is gone for good, commit it or back it out under Health.",
        "ahead": "It holds the prefetched messages of a connected client. Close the"
        " client's connection: its messages are ready again, without a backout count.",
    }

    uow: int
    nature: str  # see broker.transactions.administration.Nature

    def __str__(self) -> str:
        remedy = self.REMEDIES.get(self.nature, "")
        return (
            f"Unit of work {self.uow} cannot be backed out by force. {remedy}".strip()
        )


class TooMuchUncommitted(BrokerError):
    """A unit of work has reached its limit; the call changed nothing."""

    code = "too-much-uncommitted"
    reason = Reason.SYNCPOINT_LIMIT_REACHED

    what: str  # the unit of the limit: "messages" or "bytes"
    limit: int

    def __str__(self) -> str:
        return (
            f"A unit of work may hold {self.limit:,} {self.what}"
            f" (BROKER_MAX_UNCOMMITTED_{self.what.upper()}). Commit more often."
        )


class SecondMark(BrokerError):
    """A unit of work already has an entry marked to skip a backout; nothing was got."""

    code = "second-mark-not-allowed"
    reason = Reason.SECOND_MARK_NOT_ALLOWED

    uow: int | None

    sentence = (
        "Only one message of a unit of work can be marked to skip a backout, and one"
        " already is. Get others without the mark, or end the unit of work."
    )


class WrongOptions(BrokerError):
    """Some of the get options exclude each other; nothing was got."""

    code = "wrong-options"
    reason = Reason.OPTIONS_ERROR

    options: GetOptions
    why: str

    sentence = "These get options cannot be combined: {why}."


class MarkNotPossible(BrokerError):
    """A mark to skip a backout is not possible here; nothing was got."""

    code = "mark-not-possible"
    reason = Reason.OPTION_ENVIRONMENT_ERROR

    why: str

    sentence = "No message can be marked to skip a backout: {why}."


class NotCoordinated(BrokerError):
    """A unit of work was not begun as coordinated; it stays open."""

    code = "not-coordinated"

    uow: int | None

    sentence = (
        "Only a unit of work that was begun as coordinated, or that of a session"
        " without a mark, can be prepared. Commit this one, or begin it with"
        " coordinated=True."
    )


class WrongXid(BrokerError):
    """A coordinator's xid is not valid; nothing was prepared."""

    code = "wrong-xid"

    xid: str

    def __str__(self) -> str:
        return (
            f"{self.xid[:50]!r} is not an xid. Use 1 to 300 printable characters, such"
            " as its bytes in hex."
        )


class XidInUse(BrokerError):
    """Another unit of work is prepared under this xid; nothing was prepared."""

    code = "xid-in-use"

    xid: str

    sentence = (
        "Another unit of work is prepared as {xid!r}. Use another xid, or commit or"
        " back out the other unit of work first."
    )


class NoSuchXid(BrokerError):
    """No unit of work is prepared under this xid."""

    code = "no-such-xid"

    xid: str

    sentence = (
        "No unit of work is prepared as {xid!r}: it was already committed or backed"
        " out, or never prepared. The journal tells which."
    )
