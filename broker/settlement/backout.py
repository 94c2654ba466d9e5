"""Settle claimed entries by the outcome of their delivery. What failed is redelivered,
delayed, dead-lettered, or discarded."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Mapping, Sequence
from copy import copy as copy_of
from dataclasses import replace
from datetime import timedelta
from typing import Any

from broker.config.address_settings import Policy
from broker.config.auto_create import ensure
from broker.formats.error_fingerprint import readable
from broker.models import AddressSetting, DeadLetter, Kind
from broker.queueing import mentions
from broker.queueing.transfer import Copy, Record, TakenEntry, copy, end, put_back
from broker.settlement.annotations import annotate
from broker.settlement.discards import discard
from broker.settlement.expiry import end_expired
from broker.settlement.outcomes import (
    Accept,
    BackOut,
    Failure,
    Outcome,
    Reject,
    Release,
    for_journal,
)
from broker.settlement.redelivery_policy import (
    LONGEST_MS,
    Discard,
    Disposition,
    Park,
    Redeliver,
    dispose,
)
from broker.settlement.redelivery_policy import DeadLetter as ToDeadLetters
from broker.settlement.settings_cache import rules_of

logger = logging.getLogger(__name__)

PARKED = (
    "Message %s used up its attempts on queue %s, which is where dead letters go: it"
    " stays there. Stop its consumer, or raise max delivery attempts to -1."
)
DISCARDED = "%d poison messages of %s are discarded: %s. They are %s."
UNSET = "no dead letter address is set"
MILLISECOND = timedelta(milliseconds=1)
Cause = DeadLetter.Cause


def settle_as(
    outcome: Outcome, held: Sequence[TakenEntry], record: Record
) -> list[Disposition]:
    """Settle entries that this transaction has claimed.

    Args:
        outcome: of the delivery of all of them.
        held: the entries.
        record: for the journal; the outcome decides its kind and its error.

    Returns:
        The disposition of each entry that was backed out or rejected, without the
        expired ones.
    """
    if isinstance(outcome, Release | BackOut) and outcome.annotations and held:
        annotate(held, outcome.annotations)
    detail: dict[str, Any] = {}
    if isinstance(outcome, Release | BackOut) and outcome.hidden:
        detail["hidden"] = True
    match outcome:
        case Accept():
            end(held, replace(record, kind=Kind.ACCEPT))
        case Release(delay, why):
            delay_ms = 0 if delay is None else milliseconds(delay)
            detail |= {"error": readable(why)} if why else {}
            record = replace(record, kind=Kind.RELEASE, detail=detail)
            put_back(held, [delay_ms] * len(held), record)
        case BackOut() | Reject():
            detail |= for_journal(outcome)
            record = replace(record, kind=Kind.BACK_OUT, detail=detail)
            return back_out(outcome, held, record)
    return []


def back_out(
    outcome: Failure, held: Sequence[TakenEntry], record: Record
) -> list[Disposition]:
    """Count a backout of each entry, and carry out the disposition of its address
    settings."""
    expired = [entry for entry in held if entry.expired]
    if expired:
        end_expired(expired, record.came_from, uow=record.uow, now=record.now)
    counted = [entry.counted() for entry in held if not entry.expired]
    rules = rules_for(outcome, rules_of({entry.queue_id for entry in counted}))
    dispositions = decide_all(counted, outcome, rules)
    carry_out(counted, dispositions, record, rules, cause=cause_of(outcome))
    return dispositions


def cause_of(outcome: Failure) -> Cause:
    """The cause of the dead letters of a failed delivery."""
    rejected = isinstance(outcome, Reject)
    return Cause.REJECTED if rejected else Cause.MAX_DELIVERY_ATTEMPTS


def rules_for(
    outcome: Failure, rules: Mapping[int, AddressSetting]
) -> Mapping[int, AddressSetting]:
    """The settings as the outcome of a delivery changes them: a rejected message has no
    further attempt, and a consumer may want no delay."""
    if isinstance(outcome, Reject):
        aside = {n: one for n, one in rules.items() if can_put_aside(one)}
        return {**rules, **changed(aside, max_delivery_attempts=1)}
    return changed(rules, redelivery_delay_ms=0) if outcome.at_once else rules


def changed(
    rules: Mapping[int, AddressSetting], **values: int
) -> dict[int, AddressSetting]:
    """Copies of settings with other values; the settings themselves are cached."""
    copies = {queue_id: copy_of(rule) for queue_id, rule in rules.items()}
    for rule in copies.values():
        vars(rule).update(values)
    return copies


def decide_all(
    counted: Sequence[TakenEntry],
    outcome: Failure,
    rules: Mapping[int, AddressSetting],
) -> list[Disposition]:
    """The disposition of each entry of a failed delivery; see ``decide``.

    Args:
        counted: the entries, whose backout is counted already.
        outcome: of the delivery of all of them.
        rules: the settings of their queues, as ``rules_for`` gives them.
    """
    spread = None if isinstance(outcome, Reject) else outcome.spread
    dispositions = [
        decide(entry, rules.get(entry.queue_id), spread) for entry in counted
    ]
    if isinstance(outcome, BackOut) and outcome.delay is not None:
        dispositions = [waiting(one, outcome.delay) for one in dispositions]
    return dispositions


def decide(
    entry: TakenEntry, rule: AddressSetting | None, spread: float | None
) -> Disposition:
    """The disposition of an entry whose backout is counted already.

    Args:
        entry: the entry.
        rule: the settings of its queue (``rules_of``); None if the queue was deleted.
        spread: see ``redelivery_delay``; None: a random number.
    """
    if rule is None:
        return Discard()
    if spread is None:
        spread = random.uniform(-1, 1)  # noqa: S311
    return dispose(rule, entry.backout_count, spread, address=rule.match)


def waiting(disposition: Disposition, delay: timedelta) -> Disposition:
    """The disposition, but with this delay if it is a redelivery."""
    if isinstance(disposition, Redeliver):
        return replace(disposition, after=delay)
    return disposition


def can_put_aside(rule: AddressSetting) -> bool:
    """Whether the broker may dead-letter a rejected message. Not if the queue has IBM
    MQ's poison policy and no dead letter address: then consumers move the message at
    the backout threshold."""
    return bool(rule.dead_letter_address) or rule.poison_policy != Policy.IBM


def carry_out(
    entries: Sequence[TakenEntry],
    outcomes: Sequence[Disposition],
    record: Record,
    rules: Mapping[int, AddressSetting],
    *,
    cause: Cause = Cause.MAX_DELIVERY_ATTEMPTS,
) -> None:
    """Carry out the disposition of each entry. Only this function does so."""
    back: list[TakenEntry] = []
    delays_ms: list[int] = []
    dead: dict[str, list[TakenEntry]] = {}
    for entry, outcome in zip(entries, outcomes, strict=True):
        match outcome:
            case Redeliver(after) | Park(after):
                back.append(entry)
                delays_ms.append(milliseconds(after))
                limit = rules[entry.queue_id].max_delivery_attempts
                # One alarm, when the attempts are used up; not one for each later try.
                if isinstance(outcome, Park) and entry.backout_count == limit:
                    names = mentions.messages([entry.id])
                    queue = mentions.queues([entry.queue_id])
                    logger.warning(PARKED, names, queue)
            case ToDeadLetters(to):
                dead.setdefault(to, []).append(entry)
            case Discard():
                dead.setdefault("", []).append(entry)
    put_back(back, delays_ms, record)
    for to, letters in sorted(dead.items()):  # sorted, to avoid deadlocks
        if to:
            make_resources(to, [rules[entry.queue_id] for entry in letters])
        dead_letter(letters, to, record, cause=cause)


def dead_letter(
    entries: Sequence[TakenEntry],
    to: str,
    record: Record,
    *,
    cause: Cause = Cause.MAX_DELIVERY_ATTEMPTS,
) -> list[Copy]:
    """Copy entries to their dead letter address. Discard an entry if the address is not
    set, has no queue, or has no queue whose selector matches.

    Args:
        entries: entries that this transaction has taken.
        to: the dead letter address; empty if none is set.
        record: data for the journal rows; ``cause`` is added to them.
        cause: the cause of the dead letters.

    Returns:
        The copies, in the order of the entries; a discarded entry has none.

    Source:
        ActiveMQ Artemis, QueueImpl.sendToDeadLetterAddress: it drops such a message,
        too, and logs a warning.
    """
    record = replace(record, detail=record.detail | {"cause": cause.value})

    def drop(left: Sequence[TakenEntry], why: str) -> None:
        queues = mentions.queues({entry.queue_id for entry in left})
        names = mentions.messages([entry.id for entry in left])
        logger.warning(DISCARDED, len(left), queues, why, names)
        detail = record.detail | {"to": to}
        discard(left, replace(record, detail=detail), why=why)

    if not to:
        drop(entries, UNSET)
        return []
    letters = replace(record, kind=Kind.DEAD_LETTER)
    return copy(entries, to, letters, cause=cause, untaken=drop)


def milliseconds(delay: timedelta) -> int:
    """A delay in milliseconds, from 0 to ``LONGEST_MS``."""
    return min(max(delay // MILLISECOND, 0), LONGEST_MS)


def make_resources(to: str, rules: Iterable[AddressSetting]) -> None:
    """Auto-create a dead letter address and its queues, if the address settings of the
    dead letters' origins say so."""
    named = {rule.match: rule for rule in rules}
    for origin, rule in sorted(named.items()):
        if rule.auto_create_dead_letter_resources:
            ensure(
                to,
                origin=origin,
                prefix=rule.dead_letter_queue_prefix or "",
                suffix=rule.dead_letter_queue_suffix or "",
            )
