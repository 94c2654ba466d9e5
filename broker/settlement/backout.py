"""Back out entries whose delivery failed: redeliver, delay, dead-letter, or discard."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from broker import sql
from broker.config.address_settings import DEFAULTS, Policy, merge, policy_of
from broker.config.auto_create import ensure
from broker.models import AddressSetting, DeadLetter, Kind, Queue
from broker.queueing import mentions
from broker.queueing.transfer import Copy, Record, TakenEntry, copy, put_back
from broker.settlement.discards import discard
from broker.settlement.expiry import end_expired
from broker.settlement.redelivery_policy import (
    LONGEST_MS,
    Discard,
    Disposition,
    Park,
    Redeliver,
    dispose,
)
from broker.settlement.redelivery_policy import DeadLetter as ToDeadLetters

logger = logging.getLogger(__name__)

PARKED = (
    "Message %s used up its attempts on queue %s, which is where dead letters go: it"
    " stays there. Stop its consumer, or raise max delivery attempts to -1."
)
DISCARDED = "%d poison messages of %s are discarded: %s. They are %s."
UNSET = "no dead letter address is set"
MILLISECOND = timedelta(milliseconds=1)
Cause = DeadLetter.Cause


def dispose_of(
    held: Sequence[TakenEntry],
    record: Record,
    spread: float | None,
    *,
    at_once: bool = False,
    rejected: bool = False,
    delay: timedelta | None = None,
) -> list[Disposition]:
    """Count a backout of each entry, and do with it what its address settings say.

    Args:
        held: claimed by this transaction.
        record: for the journal.
        spread: as in ``redelivery_delay``; drawn for each entry when not given.
        at_once: redeliver without a delay.
        rejected: the consumer wants no further attempt.
        delay: the redelivery delay that the consumer asked for, in place of the
            setting's.

    Returns:
        What became of each entry that had not expired.
    """
    expired = [entry for entry in held if entry.expired]
    end_expired(expired, record.came_from, uow=record.uow, now=record.now)
    counted = [entry.counted() for entry in held if not entry.expired]
    rules = rules_of({entry.queue_id for entry in counted})
    for rule in rules.values():
        if at_once:
            rule.redelivery_delay_ms = 0
        if rejected and can_put_aside(rule):
            rule.max_delivery_attempts = 1
    outcomes = [
        decide(
            entry,
            rules.get(entry.queue_id),
            random.uniform(-1, 1) if spread is None else spread,  # noqa: S311
        )
        for entry in counted
    ]
    if delay is not None:
        outcomes = [waiting(outcome, delay) for outcome in outcomes]
    cause = Cause.REJECTED if rejected else Cause.MAX_DELIVERY_ATTEMPTS
    carry_out(counted, outcomes, record, rules, cause=cause)
    return outcomes


def decide(
    entry: TakenEntry, rule: AddressSetting | None, spread: float
) -> Disposition:
    """The disposition of an entry whose backout is counted already.

    Args:
        entry: the entry.
        rule: the settings of its queue (``rules_of``); None if the queue was deleted.
        spread: as in ``redelivery_delay``.
    """
    if rule is None:
        return Discard()
    return dispose(rule, entry.backout_count, spread, address=rule.match)


def waiting(outcome: Disposition, delay: timedelta) -> Disposition:
    """The same disposition; if it is a redelivery, with this delay."""
    if isinstance(outcome, Redeliver | Park):
        return replace(outcome, after=delay)
    return outcome


def can_put_aside(rule: AddressSetting) -> bool:
    """Whether the broker may dead-letter a rejected message. Under IBM MQ's poison
    policy and without a dead letter address, the consumers' backout threshold decides
    instead."""
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
                if isinstance(outcome, Park):
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
    """Copy entries to their dead letter address. Discard those that it cannot take: the
    address is unset, has no queue, or has none whose selector matches.

    Args:
        entries: claimed by this transaction.
        to: the address; empty where none is set.
        record: for the journal; the events of both ends name ``cause``.
        cause: of the dead letters.

    Returns:
        The copies, in the order of the entries, without the discarded ones.

    Source:
        ActiveMQ Artemis, QueueImpl.sendToDeadLetterAddress: it drops too, and warns.
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
    """Auto-create a dead letter address and its queues, if the settings of the
    addresses that the dead letters come from say so."""
    named = {rule.match: rule for rule in rules}
    for origin, rule in sorted(named.items()):
        if rule.auto_create_dead_letter_resources:
            ensure(
                to,
                origin=origin,
                prefix=rule.dead_letter_queue_prefix or "",
                suffix=rule.dead_letter_queue_suffix or "",
            )


def setting_of(row: Mapping[str, Any]) -> AddressSetting:
    return AddressSetting(**{field: row[field] for field in ("match", *DEFAULTS)})


def rules_of(queue_ids: set[int]) -> dict[int, AddressSetting]:
    """The merged address settings of each queue, with its poison policy.

    Delivery attempts are unlimited where consumers handle poison messages, where nobody
    does, and on internal queues.

    Source:
        ActiveMQ Artemis, QueueImpl.checkRedelivery: internal queues have no limit.
    """
    rules: dict[int, AddressSetting] = {}
    for queue_id, address, threshold, kind, rows in sql.run(
        "rules", {"queue_ids": list(queue_ids)}
    ):
        rule = rules[queue_id] = merge(address, map(setting_of, rows))
        rule.poison_policy = policy_of(rule, threshold)
        limited = rule.poison_policy in (Policy.ARTEMIS, Policy.BOTH)
        if not limited or kind == Queue.Kind.INTERNAL:
            rule.max_delivery_attempts = -1
    return rules
