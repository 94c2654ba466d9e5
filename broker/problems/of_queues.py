"""How problems of queues are found."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.utils.translation import gettext_noop

from broker.client.dispatch import stoppages
from broker.config.lint import advice
from broker.formats.quantities import write_duration
from broker.formats.sentences import say
from broker.monitoring import queue_states, wait_times
from broker.problems.problem import Bound, Problem
from broker.problems.readings import MOST, Readings

WHILE_PAUSED = {  # by whether messages wait, and whether the pause ends by itself
    (True, True): gettext_noop("%(queue)s: %(n)s wait until it resumes by itself."),
    (True, False): gettext_noop("%(queue)s: %(n)s wait until somebody resumes it."),
    (False, True): gettext_noop("%(queue)s: nothing waits until it resumes by itself."),
    (False, False): gettext_noop("%(queue)s: nothing waits until somebody resumes it."),
}


def of_one(
    name: str,
    text: str,
    value: int,
    since: datetime | None = None,
    *,
    is_urgent: bool = False,
) -> Problem:
    return Problem(name, text, value, (name,), name, since, is_urgent, (name,))


def stopped(seen: Readings, bound: Bound) -> Iterator[Problem]:
    text = gettext_noop(
        "%(queue)s: no queue accepts one message, so delivery has stopped."
    )
    for one in stoppages.standing()[:MOST]:
        name = one.queue.name
        yield of_one(name, say(text, queue=name), 1, one.stopped_at, is_urgent=True)


def untaken(seen: Readings, bound: Bound) -> Iterator[Problem]:
    found = queue_states.untaken(seen.waits, seen.now)
    for one in seen.queues:
        if one.is_idle and one.pk in found:
            text = say(
                gettext_noop("%(queue)s: %(n)s ready, and no consumer takes any."),
                queue=one.name,
                n=one.depth.ready,
            )
            since = found[one.pk]
            yield of_one(one.name, text, one.depth.ready, since, is_urgent=True)


def late(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in seen.queues:
        wait = seen.waits.get(one.pk)
        if wait and wait.late:
            count = f"{wait.late:,}{'+' * (wait.late >= wait_times.COUNTED)}"
            text = gettext_noop("%(queue)s: %(n)s should be ready by now.")
            text = say(text, queue=one.name, n=count)
            yield of_one(one.name, text, wait.late, wait.late_since, is_urgent=True)


def paused(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in seen.queues:
        if one.paused:
            ready, end = one.depth.ready, one.paused_until
            is_urgent = bool(ready and not end)
            text = say(WHILE_PAUSED[bool(ready), bool(end)], queue=one.name, n=ready)
            yield of_one(one.name, text, ready, end, is_urgent=is_urgent)


def deep(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in seen.queues:
        total = one.depth.total
        if total >= bound.threshold and not one.takes_dead_letters:
            text = gettext_noop("%(queue)s: %(n)s messages on the queue.")
            if total == 1:
                text = gettext_noop("%(queue)s: %(n)s message on the queue.")
            yield of_one(one.name, say(text, queue=one.name, n=total), total)


def old(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in seen.queues:
        age_s = int(seen.ages.get(one.pk, -1))
        if age_s >= bound.threshold and not one.takes_dead_letters:
            text = say(
                gettext_noop("%(queue)s: the oldest message has waited %(time)s."),
                queue=one.name,
                time=write_duration(age_s),
            )
            yield of_one(one.name, text, age_s)


def misconfigured(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in advice():
        name = one.queue
        yield Problem(
            f"{name} {one.code}", one.sentence, 1, (name,), name,
            is_urgent=False, key=(name,), code=one.code, remedy=one.remedy,
        )  # fmt: skip
