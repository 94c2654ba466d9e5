"""What units of work refuse, and how they end unasked."""

from __future__ import annotations

from broker.errors import BrokerError
from broker.errors.mq_codes import GetOptions, Reason


class BackedOut(BrokerError):
    """A commit could not be made; the unit of work has been backed out instead."""

    code = "backed-out"
    reason = Reason.BACKED_OUT

    why: str

    def __str__(self) -> str:
        return (
            f"The unit of work could not be committed and was backed out: {self.why}"
            " What it got is available again; nothing that it put was sent."
        )


class Reject(Exception):
    """What a handler raises whose messages are not to be tried again.

    Its unit of work is backed out, and all that it got is put aside at once, however
    many attempts are left. Its text is for operators. See ``broker.settlement.reject``.
    """


class NotForced(BrokerError):
    """A unit of work whose end is not an operator's to force; nothing was done."""

    code = "not-forced"
    REMEDIES = {
        "prepared": "It waits for its coordinator. If that is gone for good, commit it"
        " or back it out under Health.",
        "ahead": "A client that is connected takes ahead in it. Close the client's"
        " connection: what it holds is ready again, uncounted.",
    }

    uow: int
    nature: str  # broker.transactions.administration.Nature

    def __str__(self) -> str:
        remedy = self.REMEDIES.get(self.nature, "")
        return (
            f"Unit of work {self.uow} cannot be backed out by force. {remedy}".strip()
        )


class TooMuchUncommitted(BrokerError):
    """A unit of work holds as much as it may; the call changed nothing."""

    code = "too-much-uncommitted"
    reason = Reason.SYNCPOINT_LIMIT_REACHED

    what: str  # "messages", "bytes"
    limit: int

    def __str__(self) -> str:
        return (
            f"A unit of work may hold {self.limit:,} {self.what}"
            f" (BROKER_MAX_UNCOMMITTED_{self.what.upper()}). Commit more often."
        )


class SecondMark(BrokerError):
    """A unit of work has an entry marked to skip a backout already; nothing was got."""

    code = "second-mark-not-allowed"
    reason = Reason.SECOND_MARK_NOT_ALLOWED

    uow: int | None

    def __str__(self) -> str:
        return (
            "One message of a unit of work can be marked to skip a backout, and one is."
            " Get others without the mark, or end the unit of work first."
        )


class WrongOptions(BrokerError):
    """Get options that do not go together; nothing was got."""

    code = "wrong-options"
    reason = Reason.OPTIONS_ERROR

    options: GetOptions
    why: str

    def __str__(self) -> str:
        return f"These get options do not go together: {self.why}."


class MarkNotPossible(BrokerError):
    """Skipping a backout is not offered here; nothing was got."""

    code = "mark-not-possible"
    reason = Reason.OPTION_ENVIRONMENT_ERROR

    why: str

    def __str__(self) -> str:
        return f"No message can be marked to skip a backout: {self.why}."


class NotCoordinated(BrokerError):
    """A unit of work was not begun for another coordinator; it goes on."""

    code = "not-coordinated"

    uow: int | None

    def __str__(self) -> str:
        return (
            "Only a unit of work that was begun as coordinated can be prepared. Commit"
            " this one, or begin it with coordinated=True."
        )


class WrongXid(BrokerError):
    """A coordinator's name for a unit of work cannot be kept; nothing was prepared."""

    code = "wrong-xid"

    xid: str

    def __str__(self) -> str:
        return (
            f"{self.xid[:50]!r} is no xid. Give 1 to 300 printable characters, such as"
            " its bytes in hex."
        )


class XidInUse(BrokerError):
    """Another unit of work is prepared under this xid; nothing was prepared."""

    code = "xid-in-use"

    xid: str

    def __str__(self) -> str:
        return (
            f"Another unit of work is prepared as {self.xid!r}. Give each its own xid,"
            " or commit or back out the other first."
        )


class NoSuchXid(BrokerError):
    """No unit of work is prepared under this xid."""

    code = "no-such-xid"

    xid: str

    def __str__(self) -> str:
        return (
            f"No unit of work is prepared as {self.xid!r}: it was committed or backed"
            " out already, or never prepared. The journal says which."
        )
