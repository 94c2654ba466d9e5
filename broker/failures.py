"""What becomes of entries whose delivery failed: back, a dead letter, or nothing."""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from broker.addresses import Policy, merge, policy_of
from broker.dead_letters import dead_letter
from broker.expiry import end_expired
from broker.models import AddressSetting, Queue
from broker.moves import Held, Record, put_back
from broker.redelivery import DeadLetter as ToDeadLetters
from broker.redelivery import Discard, Disposition, Park, Redeliver, dispose

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
) -> list[Disposition]:
    """Count each entry's backout and put it where its address's settings say."""
    expired = [entry for entry in held if entry.expired]
    end_expired(expired, record.came_from, uow=record.uow, now=record.now)
    counted = [
        replace(entry, backout_count=entry.backout_count + 1)
        for entry in held
        if not entry.expired
    ]
    rules = rules_of({entry.queue_id for entry in counted})
    if at_once:
        for rule in rules.values():
            rule.redelivery_delay_ms = 0
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
    carry_out(counted, outcomes, record)
    return outcomes


def carry_out(
    entries: Sequence[Held], outcomes: Sequence[Disposition], record: Record
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
    for to, poisoned in dead.items():
        dead_letter(poisoned, to, record)


def rules_of(queue_ids: set[int]) -> dict[int, AddressSetting]:
    """The merged settings of each queue; those without the broker's own limit where its
    consumers look for poison messages, or nobody does."""
    every = list(AddressSetting.objects.all())
    rules: dict[int, AddressSetting] = {}
    queues = Queue.objects.filter(pk__in=queue_ids)
    for queue_id, address, threshold in queues.values_list(
        "pk", "address__name", "backout_threshold"
    ):
        rule = rules[queue_id] = merge(address, every)
        if policy_of(rule, threshold) not in (Policy.ARTEMIS, Policy.BOTH):
            rule.max_delivery_attempts = -1
    return rules
