"""The preview of a backout, as texts and numbers for a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.utils.translation import gettext, gettext_noop

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
    "poison_policy": gettext_noop("poison policy"),
    "max_delivery_attempts": gettext_noop("max delivery attempts"),
    "dead_letter_address": gettext_noop("dead letter address"),
    "redelivery_delay_ms": gettext_noop("redelivery delay"),
    "redelivery_delay_multiplier": gettext_noop("its multiplier"),
    "max_redelivery_delay_ms": gettext_noop("its cap"),
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
            where = gettext("Ready again at its old place.")
            said = "ready", gettext("ready, uncounted"), where
        case Expire(to):
            said = "gone", gettext("expires"), expiring(to)
        case DeadLetter() if one.landing and one.landing.is_anywhere:
            said = "dead", gettext("dead letter"), landing_of(one, one.landing)
        case DeadLetter() | Discard():
            said = "gone", gettext("discarded"), discarded(one)
        case Park():
            stays = gettext(
                "It stays with the dead letters, although its attempts are used up."
            )
            said = "dead", gettext("stays"), f"{stays} {waiting(one.waits)}"
        case _:
            state, word = (
                ("redelivery", gettext("waits"))
                if is_long(one.waits)
                else ("ready", gettext("ready"))
            )
            said = state, word, f"{waiting(one.waits)} {following(one)}"
    return said


def expiring(to: str) -> str:
    if to:
        return gettext("It expires to %(address)s.") % {"address": to}
    return gettext("It expires and is dropped.")


def is_long(waits: Span | None) -> bool:
    return waits is not None and waits.longest > timedelta(0)


def following(one: Foreseen) -> str:
    values = {"attempt": one.attempts + 1, "limit": one.limit}
    if one.limit and one.limit > one.attempts:
        return gettext("Attempt %(attempt)s of %(limit)s comes next.") % values
    return gettext("Attempt %(attempt)s comes next.") % values


def waiting(waits: Span | None) -> str:
    if waits is None or not is_long(waits):
        return gettext("Ready again at once.")
    if waits.is_spread:
        return gettext("Waits %(shortest)s to %(longest)s.") % {
            "shortest": write_duration(waits.shortest),
            "longest": write_duration(waits.longest),
        }
    return gettext("Waits %(duration)s.") % {"duration": write_duration(waits.usual)}


def landing_of(one: Foreseen, landing: Landing) -> str:
    values = {
        "queues": places_of(landing),
        "attempt": one.attempts,
        "limit": one.limit,
    }
    if one.limit:
        text = gettext(
            "Dead letter on %(queues)s, after attempt %(attempt)s of %(limit)s."
        )
    else:
        text = gettext("Dead letter on %(queues)s, after attempt %(attempt)s.")
    return text % values


def places_of(landing: Landing) -> str:
    places = [*landing.on]
    if landing.one_of:
        queues = ", ".join(landing.one_of)
        places.append(gettext("one of %(queues)s") % {"queues": queues})
    if landing.made:
        made = gettext("%(queue)s, which is created for it") % {"queue": landing.made}
        places.append(made)
    return gettext(" and ").join(places)


def discarded(one: Foreseen) -> str:
    why = gettext("no queue can take it")
    if one.landing and one.landing.why_not:
        why = gettext(one.landing.why_not)
    if not one.kept_s:
        return gettext("Discarded for good: %(reason)s.") % {"reason": why}
    kept = write_duration(timedelta(seconds=one.kept_s))
    text = gettext("Discarded: %(reason)s. The discard bin keeps it for %(duration)s.")
    return text % {"reason": why, "duration": kept}


def then_of(one: Foreseen) -> str:
    """The effect of IBM MQ's rules at the next get."""
    if not one.threshold:
        return ""
    match one.removal:
        case None:
            does = gettext("Its consumer keeps it")
        case BackoutQueue(to):
            does = gettext("Its next consumer moves it to %(queue)s") % {"queue": to}
        case DeadLetterQueue(reason):
            does = gettext(
                "Its next consumer moves it to the dead letter queue (%(reason)s)"
            ) % {"reason": reason.name}
        case DiscardByReport():
            does = gettext("Its next consumer discards it, as its report options ask")
        case _:
            does = gettext("Its next consumer finds no queue that takes it")
    return gettext("%(what)s: it came back %(attempts)s of %(threshold)s times.") % {
        "what": does,
        "attempts": one.attempts,
        "threshold": one.threshold,
    }


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
            named.setdefault(patterns[field], []).append(gettext(NAMES[field]))
    for pattern, settings in named.items():
        yield f"{pattern}: {', '.join(settings)}"
    if one.threshold:
        yield gettext("queue %(queue)s: backout threshold") % {"queue": one.queue}


def in_numbers(outcomes: Iterable[EntryForecast]) -> list[tuple[str, str, int]]:
    """Numbers of entries by outcome: state and label of the chip, and number."""
    counted = Counter((outcome.state, outcome.chip) for outcome in outcomes)
    return [(state, chip, count) for (state, chip), count in counted.most_common()]
