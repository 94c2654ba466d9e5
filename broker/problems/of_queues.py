"""How problems of queues are found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from broker.client.dispatch import stoppages
from broker.config.lint import advice
from broker.formats.quantities import write_count, write_duration
from broker.monitoring import queue_states, wait_times
from broker.problems.problem import Bound, Problem
from broker.problems.readings import MOST, Readings


def of_one(
    name: str,
    text: str,
    value: int,
    since: datetime | None = None,
    *,
    is_urgent: bool = False,
) -> Problem:
    said = f"{name}: {text}"
    return Problem(name, said, value, (name,), name, since, is_urgent, (name,))


def stopped(seen: Readings, bound: Bound) -> Iterator[Problem]:
    text = "no queue accepts one message, so delivery has stopped."
    for one in stoppages.standing()[:MOST]:
        yield of_one(one.queue.name, text, 1, one.stopped_at, is_urgent=True)


def untaken(seen: Readings, bound: Bound) -> Iterator[Problem]:
    found = queue_states.untaken(seen.waits, seen.now)
    for one in seen.queues:
        if one.is_idle and one.pk in found:
            text = f"{one.depth.ready:,} ready, and no consumer takes any."
            since = found[one.pk]
            yield of_one(one.name, text, one.depth.ready, since, is_urgent=True)


def late(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in seen.queues:
        wait = seen.waits.get(one.pk)
        if wait and wait.late:
            count = f"{wait.late:,}{'+' * (wait.late >= wait_times.COUNTED)}"
            text = f"{count} should be ready by now."
            yield of_one(one.name, text, wait.late, wait.late_since, is_urgent=True)


def paused(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in seen.queues:
        if one.paused:
            ready, end = one.depth.ready, one.paused_until
            waits = f"{ready:,} wait" if ready else "nothing waits"
            till = "it resumes by itself" if end else "somebody resumes it"
            is_urgent = bool(ready and not end)
            text = f"{waits} until {till}."
            yield of_one(one.name, text, ready, end, is_urgent=is_urgent)


def deep(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in seen.queues:
        total = one.depth.total
        if total >= bound.threshold and not one.takes_dead_letters:
            yield of_one(
                one.name, f"{write_count(total, 'message')} on the queue.", total
            )


def old(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in seen.queues:
        age_s = int(seen.ages.get(one.pk, -1))
        if age_s >= bound.threshold and not one.takes_dead_letters:
            text = f"the oldest message has waited {write_duration(age_s)}."
            yield of_one(one.name, text, age_s)


def misconfigured(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in advice():
        name = one.queue
        yield Problem(
            f"{name} {one.code}", one.sentence, 1, (name,), name,
            is_urgent=False, key=(name,), code=one.code, remedy=one.remedy,
        )  # fmt: skip
