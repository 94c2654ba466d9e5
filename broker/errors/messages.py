"""Errors of messages, selectors and filters."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from broker.errors import BrokerError
from broker.errors.mq_codes import Reason


class WrongReportOptions(BrokerError):
    """The report field has an invalid value; nothing was stored."""

    code = "wrong-report-options"
    reason = Reason.REPORT_OPTIONS_ERROR

    report: int

    sentence = (
        "Report options {report:#010x} are not a valid combination. Combine the values"
        " of broker.errors.mq_codes.Report that you want."
    )


class MissingReplyTo(BrokerError):
    """A message requests a report but has no reply-to queue; nothing was stored."""

    code = "missing-reply-to"
    reason = Reason.MISSING_REPLY_TO_Q

    report: int

    sentence = (
        "Report options {report:#010x} request a report, or the message is a request,"
        " but it has no reply-to queue. Set one."
    )


class WrongExpiry(BrokerError):
    """An expiry is not a valid duration; nothing was stored."""

    code = "wrong-expiry"
    reason = Reason.EXPIRY_ERROR

    expiry: int

    sentence = (
        "An expiry of {expiry} tenths of a second is not possible. Give 1 to"
        " 999,999,999, or -1 for never."
    )


class WrongTimeToLive(WrongExpiry):
    """A time to live is negative or too long; nothing was stored."""

    code = "wrong-time-to-live"

    def __str__(self) -> str:
        return (
            f"A time to live of {self.expiry / 10:,} s is not possible. Give at most"
            " 99,999,999.9 s, or 0 for never."
        )


class WrongPersistence(BrokerError):
    """A delivery mode does not exist; nothing was stored."""

    code = "wrong-persistence"
    reason = Reason.PERSISTENCE_ERROR

    mode: Any

    sentence = (
        "A delivery mode of {mode!r} does not exist. Give 0 for not persistent, 1 for"
        " persistent, or 2 for persistence as the queue defines it."
    )


class MalformedHeader(BrokerError):
    """The bytes of a header do not follow its format."""

    code = "malformed-header"
    reason = Reason.RFH_ERROR

    header: str  # "MQRFH2", "MQDLH" or "MQMD"
    why: str
    offset: int  # position of the fault, in bytes from the header's start

    sentence = "The {header} cannot be read at byte {offset}: {why}."


class MalformedFormat(MalformedHeader):
    """The folders of an RFH2 do not follow its rules."""

    reason = Reason.RFH_FORMAT_ERROR


class MalformedDeadLetterHeader(MalformedHeader):
    """The bytes are not a valid MQDLH."""

    reason = Reason.DLH_ERROR


class InvalidBatch(BrokerError):
    """A body is not a batch of messages; nothing was done."""

    code = "invalid-batch"

    why: str

    sentence = (
        "The body is not a batch of messages: {why}. Send the format that docs/rest.md"
        " describes."
    )


class InvalidSelector(BrokerError):
    """A selector is not a valid JMS selector."""

    code = "invalid-selector"
    reason = Reason.SELECTOR_SYNTAX_ERROR

    selector: str
    position: int  # position of the fault, in characters from 1
    why: str

    sentence = "The selector is wrong at character {position}: {why}."


class NoSuchMessage(BrokerError):
    """A message is unknown, or hidden from who asks."""

    code = "no-such-message"

    message_id: int

    sentence = "There is no message {message_id}, or none that you may see."


class InvalidFilter(BrokerError):
    """A filter has a syntax error."""

    code = "invalid-filter"
    reason = Reason.SELECTOR_SYNTAX_ERROR

    filter: str
    position: int  # position of the fault, in characters from 1
    why: str

    def __str__(self) -> str:
        end = "" if self.why.endswith("?") else "."
        return f"The filter is wrong at character {self.position}: {self.why}{end}"


class SearchTooLong(BrokerError):
    """A search took too long and was stopped; nothing was found yet."""

    code = "search-too-long"

    patience: timedelta

    def __str__(self) -> str:
        return (
            f"The search was stopped after {self.patience.total_seconds():g} seconds."
            " Narrow it by queue, state, id, or the time of the put."
        )
