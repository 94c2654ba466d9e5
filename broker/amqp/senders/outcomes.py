"""Mapping of AMQP outcomes to the broker's outcomes. Pure functions.

===================================  ===================================================
The client's outcome                 The broker
===================================  ===================================================
accepted                             accepts
rejected                             rejects: a dead letter at once
released                             releases, uncounted; if repeated: with growing
                                     delays, finally counted
modified                             releases
modified, delivery-failed            backs out: counted, and delayed by the settings of
                                     the address, or until ``x-opt-delivery-time``
modified, undeliverable-here         releases, and does not offer it to this client's
                                     Sender again
modified, both                       backs out, and does not offer it to this client's
                                     Sender again
received                             does nothing
settled without an outcome           the source's default outcome; without one, the
                                     same as modified with delivery-failed
===================================  ===================================================

A message that all consumers of its queue have refused as undeliverable waits for
others, or becomes a dead letter when its delivery attempts are used up. A rejected dead
letter stays on its dead letter queue, and is not offered to the same Sender again. An
expired entry follows the expiry rule. Annotations of ``modified`` are stored for the
next delivery, whatever the entry becomes.

Source: AMQP 1.0, part 3, section 3.4. That rejected messages become dead letters, and
that ``released`` is not counted, is as in ActiveMQ Artemis and RabbitMQ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from broker.amqp.messages.modified_annotations import storable_annotations
from broker.amqp.protocol import performatives as p
from broker.settlement.outcomes import Accept, BackOut, Outcome, Reject, Release

MILLISECOND = timedelta(milliseconds=1)
LONGEST = timedelta(days=36500)
FREE_RELEASES = 3  # releases of one entry by one Sender without a delay
MOST_RELEASES = 10  # from this number on, each release counts as a backout
# First delay of a release; the delay doubles with each further release.
FIRST_DELAY = timedelta(milliseconds=100)
FAILED = "The client reported that its delivery failed (modified)."
NO_OUTCOME = "The client settled it without an outcome."
REJECTED = "The client rejected it."
NOT_HERE = "The client reported that it is undeliverable there (modified)."
UNDELIVERABLE = (
    "The client reported that its delivery failed, and would fail again (modified)."
)
RELEASED_TOO_OFTEN = "The client released it again and again."
ROLLED_BACK = "The client's transaction was rolled back."


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The state of a delivery when its outcome comes."""

    now: datetime
    default: p.Outcome | None = None  # default outcome of the source
    is_dead_letter: bool = False  # the delivery is of a dead letter queue
    is_expired: bool = False
    # Its transaction was rolled back, but it is unsettled at the client.
    was_rolled_back: bool = False
    releases: int = 0  # earlier releases by the same Sender, in quick succession


@dataclass(frozen=True, slots=True)
class Verdict:
    """The broker's outcome, and whether to hide the entry from the Sender."""

    outcome: Outcome
    hides: bool = False


def decide(
    state: p.DeliveryState | None, about: Circumstances, *, is_settled: bool
) -> Verdict | None:
    """The verdict on a delivery; None while the delivery goes on.

    Args:
        state: the client's state; not one of a transaction.
        about: the state of the delivery.
        is_settled: whether the client has settled it.
    """
    verdict = given(state, about)
    if verdict is not None or not is_settled:
        return verdict
    return given(about.default, about) or Verdict(BackOut(NO_OUTCOME))


def given(state: p.DeliveryState | None, about: Circumstances) -> Verdict | None:
    """The verdict for an outcome; None if the delivery state is not an outcome."""
    match state:
        case p.Accepted():
            return Verdict(Accept())
        case p.Rejected():
            return refuse(description(state), about)
        case p.Released():
            return Verdict(release(about))
        case p.Modified():
            return annotated(modify(state, about), state)
    return None


def refuse(error: str, about: Circumstances) -> Verdict:
    if about.is_dead_letter and not about.is_expired:
        return Verdict(Release(why=error), hides=True)
    return Verdict(Reject(error))


def modify(state: p.Modified, about: Circumstances) -> Verdict:
    delay = requested_delay(state.message_annotations or {}, about.now)
    if not state.delivery_failed:
        why = NOT_HERE if state.undeliverable_here else ""
        return Verdict(release(about, delay, why), hides=bool(why))
    if state.undeliverable_here and about.is_dead_letter:
        return refuse(UNDELIVERABLE, about)
    if state.undeliverable_here:
        return Verdict(BackOut(UNDELIVERABLE, delay=delay), hides=True)
    return Verdict(BackOut(FAILED, delay=delay))


def annotated(verdict: Verdict, state: p.Modified) -> Verdict:
    """The same verdict with the annotations for the next delivery."""
    outcome, said = (
        verdict.outcome,
        storable_annotations(state.message_annotations or {}),
    )
    if not said or not isinstance(outcome, Release | BackOut):
        return verdict
    return replace(verdict, outcome=replace(outcome, annotations=said))


def release(
    about: Circumstances, delay: timedelta | None = None, why: str = ""
) -> Outcome:
    """Release an entry uncounted, but count the release after too many repeats: when a
    JMS listener raises an exception, its client only sends the outcome released."""
    if about.was_rolled_back:
        return BackOut(ROLLED_BACK, delay=delay)
    if about.releases >= MOST_RELEASES and not about.is_dead_letter:
        return BackOut(RELEASED_TOO_OFTEN, delay=delay)
    return Release(max_of(delay, patience(about.releases)), why)


def patience(releases: int) -> timedelta | None:
    """The delay after this many earlier releases; None: no delay."""
    if releases < FREE_RELEASES:
        return None
    return FIRST_DELAY * (1 << min(releases, MOST_RELEASES) - FREE_RELEASES)


def max_of(one: timedelta | None, other: timedelta | None) -> timedelta | None:
    if one is None or other is None:
        return one or other
    return max(one, other)


def requested_delay(annotations: Mapping[Any, Any], now: datetime) -> timedelta | None:
    """The redelivery delay that the consumer asks for; None if it asks for none.

    ``x-opt-delivery-time`` is in milliseconds since the epoch,
    ``x-opt-delivery-delay`` in milliseconds from now. A time in the past is a delay of
    0.
    """
    at_ms = annotations.get("x-opt-delivery-time")
    if isinstance(at_ms, int) and not isinstance(at_ms, bool):
        return bounded(at_ms - int(now.timestamp() * 1000))
    delay_ms = annotations.get("x-opt-delivery-delay")
    if isinstance(delay_ms, int) and not isinstance(delay_ms, bool):
        return bounded(delay_ms)
    return None


def bounded(delay_ms: int) -> timedelta:
    return min(max(delay_ms, 0), LONGEST // MILLISECOND) * MILLISECOND


def description(state: p.Rejected) -> str:
    """The client's reason in one line, for operators.

    Source: Azure Service Bus puts the reason into ``info``: DeadLetterReason and
    DeadLetterErrorDescription.
    """
    error = state.error
    if error is None:
        return REJECTED
    info = error.info if isinstance(error.info, dict) else {}
    said = [f"{name}: {text}" for name, text in info.items() if isinstance(text, str)]
    parts = [str(error.condition), error.description or "", *said]
    return "; ".join(part for part in parts if part) or REJECTED


def bare(state: p.DeliveryState | None) -> p.Outcome:
    """The outcome for our own settlement: the client's outcome, without its error.

    Source: the Azure SDK raises an exception if a rejection is repeated with its error.
    """
    if isinstance(state, p.TransactionalState):
        return bare(state.outcome)
    if isinstance(state, p.Modified):
        return p.Modified(state.delivery_failed, state.undeliverable_here)
    if isinstance(state, p.Accepted | p.Rejected | p.Released):
        return type(state)()
    return p.Modified(delivery_failed=True)
