"""The preview of a backout, as texts and numbers for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from broker.formats.quantities import write_duration
from broker.monitoring.backout_preview import Expire, Foreseen, Landing, Uncounted
from broker.settlement.redelivery_policy import (
    BackoutQueue,
    DeadLetter,
    DeadLetterQueue,
    Discard,
    DiscardByReport,
    Park,
)
from broker.settlement.redelivery_schedule import Span

NAMES = {  # names of settings on pages
    "poison_policy": "poison policy",
    "max_delivery_attempts": "max delivery attempts",
    "dead_letter_address": "dead letter address",
    "redelivery_delay_ms": "redelivery delay",
    "redelivery_delay_multiplier": "its multiplier",
    "max_redelivery_delay_ms": "its cap",
}
OF_ENDS = ("max_delivery_attempts", "dead_letter_address")
OF_WAITS = ("redelivery_delay_ms", "redelivery_delay_multiplier")


@dataclass(frozen=True, slots=True)
class EntryForecast:
    """The outcome for one entry."""

    foreseen: Foreseen
    state: str  # the state of the chip
    chip: str  # the text on the chip
    what: str  # the outcome, in a sentence
    then: str  # the effect of the next get; may be empty
    why: Sequence[str]  # the settings and counts that decide the outcome


def forecast_of(one: Foreseen) -> EntryForecast:
    state, chip, what = outcome_of(one)
    return EntryForecast(one, state, chip, what, then_of(one), list(why_of(one)))


def outcome_of(one: Foreseen) -> tuple[str, str, str]:
    """The chip's state and word, and the sentence."""
    match one.outcome:
        case Uncounted():
            said = "ready", "ready, uncounted", "Ready again at its old place."
        case Expire(to):
            where = f"It expires to {to}." if to else "It expires and is dropped."
            said = "gone", "expires", where
        case DeadLetter() if one.landing and one.landing.is_anywhere:
            said = "dead", "dead letter", landing_of(one, one.landing)
        case DeadLetter() | Discard():
            said = "gone", "discarded", discarded(one)
        case Park():
            stays = "It stays with the dead letters, although its attempts are used up."
            said = "dead", "stays", f"{stays} {waiting(one.waits)}"
        case _:
            state, word = (
                ("redelivery", "waits") if is_long(one.waits) else ("ready",) * 2
            )
            following = f"Attempt {one.attempts + 1}{of_limit(one)} comes next."
            said = state, word, f"{waiting(one.waits)} {following}"
    return said


def is_long(waits: Span | None) -> bool:
    return waits is not None and waits.longest > timedelta(0)


def of_limit(one: Foreseen) -> str:
    return f" of {one.limit}" if one.limit and one.limit > one.attempts else ""


def waiting(waits: Span | None) -> str:
    if waits is None or not is_long(waits):
        return "Ready again at once."
    if waits.is_spread:
        shortest, longest = map(write_duration, (waits.shortest, waits.longest))
        return f"Waits {shortest} to {longest}."
    return f"Waits {write_duration(waits.usual)}."


def landing_of(one: Foreseen, landing: Landing) -> str:
    places = [*landing.on]
    if landing.one_of:
        places.append(f"one of {', '.join(landing.one_of)}")
    if landing.made:
        places.append(f"{landing.made}, which is created for it")
    of = f" of {one.limit}" if one.limit else ""
    return f"Dead letter on {' and '.join(places)}, after attempt {one.attempts}{of}."


def discarded(one: Foreseen) -> str:
    why = one.landing.why_not if one.landing else "no queue can take it"
    if not one.kept_s:
        return f"Discarded for good: {why}."
    kept = write_duration(timedelta(seconds=one.kept_s))
    return f"Discarded: {why}. The discard bin keeps it for {kept}."


def then_of(one: Foreseen) -> str:
    """The effect of IBM MQ's rules at the next get."""
    if not one.threshold:
        return ""
    match one.removal:
        case None:
            does = "Its consumer keeps it"
        case BackoutQueue(to):
            does = f"Its next consumer moves it to {to}"
        case DeadLetterQueue(reason):
            to = f"the dead letter queue ({reason.name})"
            does = f"Its next consumer moves it to {to}"
        case DiscardByReport():
            does = "Its next consumer discards it, as its report options ask"
        case _:
            does = "Its next consumer finds no queue that takes it"
    return f"{does}: it came back {one.attempts} of {one.threshold} times."


def why_of(one: Foreseen) -> Iterable[str]:
    patterns = one.decided_by or {}
    match one.outcome:
        case DeadLetter() | Discard() | Park():
            fields: Sequence[str] = OF_ENDS
        case Uncounted() | Expire():
            fields = ()
        case _:
            waits = OF_WAITS if is_long(one.waits) else ()
            fields = ("max_delivery_attempts", *waits)
    named: dict[str, list[str]] = {}
    for field in fields:
        if field in patterns:
            named.setdefault(patterns[field], []).append(NAMES[field])
    for pattern, settings in named.items():
        yield f"{pattern}: {', '.join(settings)}"
    if one.threshold:
        yield f"queue {one.queue}: backout threshold"


def in_numbers(outcomes: Iterable[EntryForecast]) -> list[tuple[str, str, int]]:
    """Numbers of entries by outcome: state and label of the chip, and number."""
    counted = Counter((outcome.state, outcome.chip) for outcome in outcomes)
    return [(state, chip, count) for (state, chip), count in counted.most_common()]
