"""The redelivery policy: redeliver after a delay, dead-letter, or discard.

Pure: the caller passes settings, counts and a random number. The module needs no
Django, so that reports can replay failures with the same rule on Spark.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from broker.errors.mq_codes import Reason, Report

# A century; PostgreSQL can add this to a time.
LONGEST_MS = 100 * 365 * 24 * 3600 * 1000
# Shortest delay between further deliveries of a dead letter whose attempts are used up;
# it stays on its queue.
STAYS_MS = 60_000


class RedeliverySettings(Protocol):
    """The fields of an address setting that the policy reads."""

    @property
    def max_delivery_attempts(self) -> int | None: ...

    @property
    def dead_letter_address(self) -> str | None: ...

    @property
    def redelivery_delay_ms(self) -> int | None: ...

    @property
    def redelivery_delay_multiplier(self) -> float | None: ...

    @property
    def redelivery_collision_avoidance_factor(self) -> float | None: ...

    @property
    def max_redelivery_delay_ms(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Redeliver:
    """The entry goes back to its queue after a delay."""

    after: timedelta


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The attempts are used up; a copy goes to this dead letter address."""

    to: str


@dataclass(frozen=True, slots=True)
class Discard:
    """The attempts are used up, and no dead letter address is set."""


@dataclass(frozen=True, slots=True)
class Park:
    """The attempts are used up, but the entry is on the dead letter queue itself; it
    stays there, with one alarm, and waits long before each further delivery."""

    after: timedelta


Disposition = Redeliver | DeadLetter | Discard | Park


@dataclass(frozen=True, slots=True)
class BackoutQueue:
    """A poison message goes to its backout queue."""

    to: str


@dataclass(frozen=True, slots=True)
class DeadLetterQueue:
    """A message goes to the broker's dead letter queue, with a header that has the
    reason."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class DiscardByReport:
    """A message goes to the discard bin, as its report options ask."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class NoPlace:
    """No queue accepts the message; the kind of its consumer decides what happens."""

    reason: Reason  # the reason why the message had to be moved
    refused: Reason  # the reason why the last queue refused it


Removal = BackoutQueue | DeadLetterQueue | DiscardByReport | NoPlace


def remove(
    why: Reason | None,
    *,
    backout_queue: str,
    dead_letter_queue: str,
    report: Report,
    refusal: Callable[[str], Reason | None],
) -> Removal:
    """Decide where a consumer moves a message that it cannot process, by IBM MQ's
    rules.

    The backout queue is tried first, but only for a poison message. Then it is the
    discard bin if the report options ask for that, else the broker's dead letter queue.

    Args:
        why: the reason: the message is unwanted or malformed. None: it is poison.
        backout_queue: the backout queue of the message's queue; empty if not set.
        dead_letter_queue: the broker's dead letter queue; empty if not set.
        report: the message's report options.
        refusal: function that returns why the named queue would refuse the message, or
            None if it would accept it.

    Source:
        IBM MQ, "Handling poison messages in IBM MQ classes for JMS" and "Removing
        messages from the queue in ASF".
    """
    if why is None and backout_queue:
        why = refusal(backout_queue)
        if why is None:
            return BackoutQueue(backout_queue)
    if why is None:
        why = Reason.BACKOUT_THRESHOLD_REACHED
    if report & Report.DISCARD_MSG:
        return DiscardByReport(why)
    refused = refusal(dead_letter_queue)
    if refused is None:
        return DeadLetterQueue(why)
    return NoPlace(why, refused)


def dispose(
    settings: RedeliverySettings, attempts: int, spread: float, *, address: str
) -> Disposition:
    """The disposition of an entry whose delivery failed.

    Args:
        settings: the merged settings of the entry's address.
        attempts: number of failed deliveries, including this one; from 1.
        spread: see ``redelivery_delay``.
        address: the entry's address. An entry on its own dead letter address is not
            dead-lettered again; it stays (``Park``).

    Source:
        ActiveMQ Artemis, QueueImpl.checkRedelivery: the limit is checked before the
        delay, so a limit of N gives exactly N deliveries; 0 and below mean no limit.
    """
    limit = settings.max_delivery_attempts
    assert limit is not None, "settings are merged"
    if 0 < limit <= attempts:
        if not settings.dead_letter_address:
            return Discard()
        if settings.dead_letter_address != address:
            return DeadLetter(settings.dead_letter_address)
        return Park(timedelta(milliseconds=max(longest_delay_ms(settings), STAYS_MS)))
    return Redeliver(redelivery_delay(settings, attempts, spread))


def redelivery_delay(
    settings: RedeliverySettings, attempts: int, spread: float
) -> timedelta:
    """The redelivery delay of an entry.

    It grows with every attempt, then collision avoidance spreads it, then the cap
    limits it::

        d = floor(delay * multiplier ** (attempts - 1))
        d = trunc(d + d * factor * spread)
        min(d, cap)

    Args:
        settings: the merged settings of the entry's address.
        attempts: number of failed deliveries of the entry, including this one; from 1.
        spread: a random number, uniform in [-1, 1]. The caller passes it, so that the
            result can be tested.

    Returns:
        The delay in whole milliseconds, from zero to the cap. A cap that is not set is
        ten times the delay; it is a century at most. If the delay is zero, so is the
        result.

    Raises:
        ValueError: ``attempts`` is below 1, or ``spread`` outside [-1, 1].

    Source:
        ActiveMQ Artemis, QueueImpl.calculateRedeliveryDelay, and the worked examples of
        its manual, "Message Redelivery and Undelivered Messages".
    """
    if attempts < 1:
        raise ValueError(f"attempts must be 1 or more, not {attempts}")
    if not -1 <= spread <= 1:
        raise ValueError(f"spread must be from -1 to 1, not {spread}")

    delay_ms = settings.redelivery_delay_ms or 0
    multiplier = settings.redelivery_delay_multiplier
    factor = settings.redelivery_collision_avoidance_factor
    assert multiplier is not None, "settings are merged"
    assert factor is not None, "settings are merged"
    if not delay_ms:
        return timedelta(0)
    cap_ms = min(longest_delay_ms(settings), LONGEST_MS)
    try:
        grown_ms = math.floor(delay_ms * multiplier ** (attempts - 1))
        spread_ms = math.trunc(grown_ms + grown_ms * factor * spread)
    except OverflowError:  # only after very many redeliveries
        return timedelta(milliseconds=cap_ms)
    return timedelta(milliseconds=min(spread_ms, cap_ms))


def longest_delay_ms(settings: RedeliverySettings) -> int:
    """The cap of the delay: the setting, or ten times the delay if it is not set."""
    if settings.max_redelivery_delay_ms is not None:
        return settings.max_redelivery_delay_ms
    return 10 * (settings.redelivery_delay_ms or 0)
