"""What is wrong with a message."""

from __future__ import annotations

from datetime import timedelta

from broker.errors import BrokerError
from broker.errors.mq_codes import Reason


class WrongReportOptions(BrokerError):
    """The report field asks for what there is not; nothing was stored."""

    code = "wrong-report-options"
    reason = Reason.REPORT_OPTIONS_ERROR

    report: int

    def __str__(self) -> str:
        return (
            f"Report options {self.report:#010x} are no valid combination. Add up the"
            " options that you want from broker.errors.mq_codes.Report."
        )


class MissingReplyTo(BrokerError):
    """A message asks for a report and does not say whereto; nothing was stored."""

    code = "missing-reply-to"
    reason = Reason.MISSING_REPLY_TO_Q

    report: int

    def __str__(self) -> str:
        return (
            f"Report options {self.report:#010x} ask for a report, or the message is a"
            " request, but it has no reply-to queue. Name one."
        )


class WrongExpiry(BrokerError):
    """An expiry is no span of time; nothing was stored."""

    code = "wrong-expiry"
    reason = Reason.EXPIRY_ERROR

    expiry: int

    def __str__(self) -> str:
        return (
            f"An expiry of {self.expiry} tenths of a second is not possible. Give 1 to"
            " 999,999,999, or -1 for never."
        )


class MalformedHeader(BrokerError):
    """The bytes of a header are not what its format says."""

    code = "malformed-header"
    reason = Reason.RFH_ERROR

    header: str  # "MQRFH2", "MQDLH", "MQMD"
    why: str
    offset: int  # of the fault, in bytes from the header's first

    def __str__(self) -> str:
        return f"The {self.header} cannot be read at byte {self.offset}: {self.why}."


class MalformedFormat(MalformedHeader):
    """The folders of an RFH2 are not what its rules say."""

    reason = Reason.RFH_FORMAT_ERROR


class MalformedDeadLetterHeader(MalformedHeader):
    """The bytes of an MQDLH are not one."""

    reason = Reason.DLH_ERROR


class InvalidBatch(BrokerError):
    """A body should be a batch of messages, and is none; nothing was done."""

    code = "invalid-batch"

    why: str

    def __str__(self) -> str:
        return (
            f"The body is no batch of messages: {self.why}. Send what"
            " broker.amqp.messages.batches writes, as docs/rest.md says."
        )


class InvalidSelector(BrokerError):
    """A selector is not in the language of JMS selectors."""

    code = "invalid-selector"
    reason = Reason.SELECTOR_SYNTAX_ERROR

    selector: str
    position: int  # of the fault, in characters from 1
    why: str

    def __str__(self) -> str:
        return f"The selector is wrong at character {self.position}: {self.why}."


class InvalidFilter(BrokerError):
    """A filter is not in the language of filters."""

    code = "invalid-filter"
    reason = Reason.SELECTOR_SYNTAX_ERROR

    filter: str
    position: int  # of the fault, in characters from 1
    why: str

    def __str__(self) -> str:
        end = "" if self.why.endswith("?") else "."
        return f"The filter is wrong at character {self.position}: {self.why}{end}"


class SearchTooLong(BrokerError):
    """The database was asked for what takes it too long; nothing was found yet."""

    code = "search-too-long"

    patience: timedelta

    def __str__(self) -> str:
        return (
            f"The search was stopped after {self.patience.total_seconds():g} seconds."
            " Narrow it: by queue, state, id, or the time of the put."
        )
