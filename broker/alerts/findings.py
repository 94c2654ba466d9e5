"""What is wrong now, by the condition of each rule.

Pages find the same problems with the same functions. Each source is read once in an
evaluation, and only if an enabled rule asks for it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, cached_property
from importlib import import_module

from django.apps import apps
from django.db.models import BooleanField, ExpressionWrapper
from django.utils.module_loading import module_has_submodule

from broker.alerts.names import OWN
from broker.bridges import standing
from broker.client.dispatch import stoppages
from broker.formats.quantities import write_count, write_duration
from broker.formats.wildcards import matches
from broker.models import AlertRule, Approval, DeadLetter, Operation, Queue
from broker.monitoring import dead_letters, disk, wait_times
from broker.monitoring.dead_letter_queues import takes_dead_letters
from broker.queueing import journal

MOST = 200  # findings of one rule, the worst first
Condition = AlertRule.Condition


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """One problem of one subject."""

    subject: str
    text: str  # a sentence; may contain untrusted names
    value: int
    queue: str = ""  # whoever may inquire it may know of the problem
    fingerprint: str = ""
    mark: int | None = None  # a count; a change of it means that the problem is over


@dataclass(frozen=True, slots=True)
class WatchedQueue:
    """A queue, and what is on it."""

    pk: int
    name: str
    paused: bool
    stopped: bool
    takes_dead_letters: bool
    depth: journal.Depth

    @property
    def is_untaken(self) -> bool:
        """Messages are ready for consumers, and none is claimed."""
        is_still = self.paused or self.stopped or self.takes_dead_letters
        return not is_still and self.depth.ready > 0 == self.depth.claimed


class Readings:
    """What rules look at, at one moment."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.grown: dict[int, list[dead_letters.Growing]] = {}

    @cached_property
    def queues(self) -> list[WatchedQueue]:
        """All queues but those of notifications. Three queries."""
        takes = ExpressionWrapper(takes_dead_letters(), output_field=BooleanField())
        rows = Queue.objects.exclude(name__in=OWN).values_list(
            "pk", "name", "paused", "stopped", takes
        )
        depths = journal.depths()
        nothing = journal.Depth()
        return [
            WatchedQueue(pk, name, paused, stopped, dead, depths.get(pk, nothing))
            for pk, name, paused, stopped, dead in rows
        ]

    def matching(self, rule: AlertRule, *, dead: bool = False) -> list[WatchedQueue]:
        """The queues of a rule: those for consumers, or those of dead letters."""
        return [
            one
            for one in self.queues
            if one.takes_dead_letters == dead and matches(rule.queues, one.name)
        ]

    def waits(
        self, queues: Iterable[WatchedQueue]
    ) -> Mapping[int, wait_times.QueueWait]:
        """Wait times of the queues that have most messages. One query."""
        found = heapq.nlargest(MOST, queues, key=lambda one: one.depth.ready)
        return wait_times.waiting([one.pk for one in found], now=self.now)

    def growing(self, within_s: int) -> list[dead_letters.Growing]:
        """The groups of dead letters that grew lately. One query for each period."""
        if within_s not in self.grown:
            ids = [one.pk for one in self.queues if one.takes_dead_letters]
            self.grown[within_s] = dead_letters.growing(
                ids, limit=MOST, now=self.now, span=timedelta(seconds=within_s)
            )
        return self.grown[within_s]

    def name_of(self, queue_id: int) -> str:
        return next((one.name for one in self.queues if one.pk == queue_id), "")


def of_rule(rule: AlertRule, seen: Readings) -> list[RuleFinding]:
    """The problems of one rule, the worst first, and at most ``MOST``.

    Args:
        rule: an enabled rule.
        seen: the readings of this evaluation.
    """
    known = CONDITIONS | of_applications()
    every = known[Condition(rule.condition)](rule, seen)
    return heapq.nlargest(MOST, every, key=lambda one: one.value)


def deep(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    for one in seen.matching(rule):
        if one.depth.total >= rule.threshold:
            held = write_count(one.depth.total, "message")
            text = f"{one.name}: {held} on the queue."
            yield RuleFinding(one.name, text, one.depth.total, one.name)


def old(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    waiting = [one for one in seen.matching(rule) if one.depth.ready]
    waits = seen.waits(waiting) if waiting else {}
    for one in waiting:
        wait = waits.get(one.pk)
        if wait and wait.oldest_at:
            age_s = int((seen.now - wait.oldest_at).total_seconds())
            if age_s >= rule.threshold:
                age = write_duration(age_s)
                text = f"{one.name}: the oldest message has waited {age}."
                yield RuleFinding(one.name, text, age_s, one.name)


def untaken(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    for one in seen.matching(rule):
        if one.is_untaken:
            ready = one.depth.ready
            held = write_count(ready, "message")
            text = f"{one.name}: {held} ready, and no consumer takes any."
            taken = one.depth.accept_attempts
            yield RuleFinding(one.name, text, ready, one.name, mark=taken)


def stopped(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    for one in stoppages.standing()[:MOST]:
        name = one.queue.name
        if name not in OWN and matches(rule.queues, name):
            text = f"{name}: no queue accepts one message, so delivery has stopped."
            yield RuleFinding(name, text, 1, name)


def dead(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    for one in seen.matching(rule, dead=True):
        count = one.depth.total
        if count >= rule.threshold:
            letters = write_count(count, "dead letter")
            yield RuleFinding(one.name, f"{one.name}: {letters}.", count, one.name)


def growth(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    for one in of_origins(rule, seen):
        if one.messages >= rule.threshold:
            yield told(one, seen, f" within {write_duration(rule.within_s)}")


def new_causes(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    """Groups whose first letter died within the period."""
    groups = of_origins(rule, seen)
    begins = seen.now - timedelta(seconds=rule.within_s)
    older = DeadLetter.objects.filter(
        fingerprint__in={one.fingerprint for one in groups}, died_at__lte=begins
    )
    known = set(older.values_list("fingerprint", flat=True).distinct())
    for one in groups:
        if one.fingerprint not in known:
            yield told(one, seen, ", of a cause that was not known")


def of_origins(rule: AlertRule, seen: Readings) -> list[dead_letters.Growing]:
    every = seen.growing(rule.within_s)
    return [one for one in every if matches(rule.queues, one.origin_queue)]


def told(group: dead_letters.Growing, seen: Readings, how: str) -> RuleFinding:
    name = seen.name_of(group.queue_id)
    letters = write_count(group.messages, "dead letter")
    why = group.pattern[:200] or "no error was given"
    return RuleFinding(
        subject=f"{group.origin_queue} → {name} {group.fingerprint}",
        text=f"{letters} of {group.origin_queue}{how}: {why}",
        value=group.messages,
        queue=name,
        fingerprint=group.fingerprint,
    )


def failed_links(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    for found, how in (
        (standing.failed(), "stopped by itself"),
        (standing.troubled(), "transfers nothing"),
    ):
        for one in found.select_related("link__bridge")[:MOST]:
            hold = standing.held_by(one)
            why = f"waits: its target is {hold}" if hold else how
            yield RuleFinding(str(one.link), f"{one.link} {why}: {one.error[:200]}", 1)


def approvals(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    waiting = Approval.objects.filter(
        approved_by=None,
        expires_at__gt=seen.now,
        operation__state=Operation.State.PLANNED,
    )
    for pk in waiting.order_by("pk").values_list("pk", flat=True)[:MOST]:
        text = f"Operation {pk} waits for the approval of a second person."
        yield RuleFinding(f"operation {pk}", text, 1)


def full_disk(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    found = disk.look()
    if found is not None and 100 - found.free_percent >= rule.threshold:
        used = int(100 - found.free_percent)
        text = f"{used} % of the disk of {found.path} are in use."
        yield RuleFinding(found.path, text, used)


def nothing(rule: AlertRule, seen: Readings) -> Iterator[RuleFinding]:
    """No application that is installed knows of it."""
    yield from ()


Find = Callable[[AlertRule, Readings], Iterator[RuleFinding]]
CONDITIONS: dict[Condition, Find] = {
    Condition.DEPTH: deep,
    Condition.AGE: old,
    Condition.NOT_CONSUMED: untaken,
    Condition.STOPPED: stopped,
    Condition.DEAD_LETTERS: dead,
    Condition.GROWTH: growth,
    Condition.NEW_CAUSE: new_causes,
    Condition.LINK: failed_links,
    Condition.APPROVAL: approvals,
    Condition.DISK: full_disk,
    Condition.REPORTS: nothing,
}


@cache
def of_applications() -> dict[Condition, Find]:
    """What other applications find: ``CONDITIONS`` of their module
    ``alert_conditions``."""
    found: dict[Condition, Find] = {}
    for one in apps.get_app_configs():
        if module_has_submodule(one.module, "alert_conditions"):
            found |= import_module(f"{one.name}.alert_conditions").CONDITIONS
    return found
