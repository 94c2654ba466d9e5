"""The outcomes of a delivery: accept, release, back out, or reject.

Whoever ends deliveries names one of these: for a whole unit of work
(``settlement.settle``), or for some of its deliveries (``settlement.batch``).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from broker.errors import units_of_work
from broker.formats.error_fingerprint import readable
from broker.formats.exceptions import cause_of, described, is_a, path_of, text_of
from broker.formats.stack_trace import stack_trace

# Annotations for the next deliveries of the entry: names and encoded values.
Annotations = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Accept:
    """The delivery succeeded; the entry leaves its queue."""


@dataclass(frozen=True, slots=True)
class Release:
    """The entry returns to its queue; no backout is counted."""

    delay: timedelta | None = None  # delay that the consumer wants; None: at once
    why: str = ""  # reason why the consumer cannot process the entry
    annotations: Annotations = ()
    hidden: bool = False  # whether this consumer never gets the entry again


@dataclass(frozen=True, slots=True)
class BackOut:
    """The delivery failed: a backout is counted, and the entry is redelivered unless
    its attempts are used up."""

    error: str  # the error, for the operator
    # Delay that the consumer wants; None: the settings decide.
    delay: timedelta | None = None
    at_once: bool = False  # whether an entry is redelivered without delay
    # Random part of the delay, -1 to 1 (``redelivery_delay``); None: each entry gets a
    # random number of its own.
    spread: float | None = None
    annotations: Annotations = ()
    hidden: bool = False  # whether this consumer never gets the entry again
    stack: str = ""  # the stack trace of the exception that its handler raised
    exception: str = ""  # the class of that exception, with its module


@dataclass(frozen=True, slots=True)
class Reject:
    """The delivery failed for good: the entry gets no further attempt.

    It becomes a dead letter at once, or is discarded if no dead letter address is set.
    IBM MQ's policy has no rejection: without a dead letter address the delivery is
    backed out.

    Source:
        ActiveMQ Artemis, ServerConsumerImpl.reject, as AMQP's outcome "rejected" asks.
    """

    error: str
    stack: str = ""  # the stack trace of the exception that its handler raised
    exception: str = ""  # the class of that exception, with its module


Failure = BackOut | Reject
Outcome = Accept | Release | Failure


def failure(error: BaseException) -> Failure:
    """The outcome of a delivery whose consumer raised an exception. Nothing that the
    exception does can make this fail."""
    cause = cause_or_self(error)
    if is_a(error, units_of_work.RedeliverIn):
        assert isinstance(error, units_of_work.RedeliverIn)
        return BackOut(
            describe(cause),
            delay=error.delay,
            stack=stack_trace(cause),
            exception=path_of(cause),
        )
    if is_a(error, units_of_work.Reject):
        return Reject(
            describe(error), stack=stack_trace(error), exception=path_of(cause)
        )
    return BackOut(describe(error), stack=stack_trace(error), exception=path_of(error))


def cause_or_self(error: BaseException) -> BaseException:
    cause = cause_of(error)
    return error if cause is None else cause


def for_journal(outcome: Failure) -> dict[str, Any]:
    """What the journal says of a failure."""
    told = {"error": readable(outcome.error)}
    if outcome.stack:
        told |= {"stack": outcome.stack, "exception": readable(outcome.exception)}
    return told


def describe(error: BaseException) -> str:
    """An exception in one line, for operators."""
    if is_a(error, units_of_work.Reject):
        return text_of(error)
    if is_a(error, units_of_work.RedeliverIn):
        return described(cause_or_self(error))
    return described(error)
