"""What becomes of entries whose delivery failed: back, a dead letter, or nothing."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from broker.addresses import Policy, merge, policy_of
from broker.dead_letters import Cause, dead_letter
from broker.expiry import end_expired
from broker.models import AddressSetting, Queue
from broker.moves import Held, Record, put_back
from broker.redelivery import DeadLetter as ToDeadLetters
from broker.redelivery import Discard, Disposition, Park, Redeliver, dispose
from broker.resources import ensure

logger = logging.getLogger(__name__)

PARKED = (
    "Message %d used up its attempts on queue %d, which is where dead letters go: it"
    " stays there. Stop its consumer, or raise max delivery attempts to -1."
)
MILLISECOND = timedelta(milliseconds=1)


def dispose_of(
    held: Sequence[Held],
    record: Record,
    spread: float | None,
    *,
    at_once: bool = False,
    rejected: bool = False,
) -> list[Disposition]:
    """Count each entry's backout and put it where its address's settings say.

    Args:
        held: what was taken.
        record: for the journal.
        spread: as in ``redelivery_delay``; drawn for each entry when not given.
        at_once: what comes back waits for no delay.
        rejected: the consumer wants no other attempt.
    """
    expired = [entry for entry in held if entry.expired]
    end_expired(expired, record.came_from, uow=record.uow, now=record.now)
    counted = [
        replace(entry, backout_count=entry.backout_count + 1)
        for entry in held
        if not entry.expired
    ]
    rules = rules_of({entry.queue_id for entry in counted})
    for rule in rules.values():
        if at_once:
            rule.redelivery_delay_ms = 0
        if rejected and can_put_aside(rule):
            rule.max_delivery_attempts = 1
    outcomes = [
        dispose(
            rules[entry.queue_id],
            entry.backout_count,
            random.uniform(-1, 1) if spread is None else spread,  # noqa: S311
            address=rules[entry.queue_id].match,
        )
        if entry.queue_id in rules
        else Discard()  # its queue was deleted
        for entry in counted
    ]
    cause = Cause.REJECTED if rejected else Cause.MAX_DELIVERY_ATTEMPTS
    carry_out(counted, outcomes, record, rules, cause=cause)
    return outcomes


def can_put_aside(rule: AddressSetting) -> bool:
    """Whether the broker may take a rejected message away. Where that is a matter of
    its consumers, and no dead letter address is set, their threshold decides."""
    return bool(rule.dead_letter_address) or rule.poison_policy != Policy.IBM


def carry_out(
    entries: Sequence[Held],
    outcomes: Sequence[Disposition],
    record: Record,
    rules: Mapping[int, AddressSetting],
    *,
    cause: Cause = Cause.MAX_DELIVERY_ATTEMPTS,
) -> None:
    """Put each entry where its disposition says; the one place that knows how."""
    back: list[Held] = []
    delays_ms: list[int] = []
    dead: dict[str, list[Held]] = {}
    for entry, outcome in zip(entries, outcomes, strict=True):
        match outcome:
            case Redeliver(after) | Park(after):
                back.append(entry)
                delays_ms.append(after // MILLISECOND)
                if isinstance(outcome, Park):
                    logger.warning(PARKED, entry.id, entry.queue_id)
            case ToDeadLetters(to):
                dead.setdefault(to, []).append(entry)
            case Discard():
                dead.setdefault("", []).append(entry)
    put_back(back, delays_ms, record)
    for to, letters in sorted(dead.items()):  # two who make resources do not cross
        if to:
            make_resources(to, [rules[entry.queue_id] for entry in letters])
        dead_letter(letters, to, record, cause=cause)


def make_resources(to: str, rules: Iterable[AddressSetting]) -> None:
    """Make a dead letter address and its queues, where the settings of the addresses
    that letters come from say so."""
    named = {rule.match: rule for rule in rules}
    for origin, rule in sorted(named.items()):
        if rule.auto_create_dead_letter_resources:
            ensure(
                to,
                origin=origin,
                prefix=rule.dead_letter_queue_prefix or "",
                suffix=rule.dead_letter_queue_suffix or "",
            )


def rules_of(queue_ids: set[int]) -> dict[int, AddressSetting]:
    """The merged settings of each queue, with its policy; those without a limit where
    its consumers look for poison messages, or nobody does, or it is the broker's own.

    Source:
        ActiveMQ Artemis, QueueImpl.checkRedelivery: internal queues have no limit.
    """
    every = list(AddressSetting.objects.all())
    rules: dict[int, AddressSetting] = {}
    queues = Queue.objects.filter(pk__in=queue_ids)
    for queue_id, address, threshold, kind in queues.values_list(
        "pk", "address__name", "backout_threshold", "kind"
    ):
        rule = rules[queue_id] = merge(address, every)
        rule.poison_policy = policy_of(rule, threshold)
        limited = rule.poison_policy in (Policy.ARTEMIS, Policy.BOTH)
        if not limited or kind == Queue.Kind.INTERNAL:
            rule.max_delivery_attempts = -1
    return rules
