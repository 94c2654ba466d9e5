"""How problems of units of work, operations, processes and the disk are found."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.translation import gettext_noop

from broker.formats.sentences import say
from broker.models import Approval, Operation
from broker.monitoring import disk, silent_processes
from broker.problems.problem import Bound, Problem
from broker.problems.readings import MOST, Readings
from broker.transactions import administration
from broker.transactions.prepared import prepared

ONE_WAITS = (
    gettext_noop("%(n)s unit of work"),
    gettext_noop("%(units)s waits for a coordinator."),
)
MANY_WAIT = (
    gettext_noop("%(n)s units of work"),
    gettext_noop("%(units)s wait for a coordinator."),
)


def lost_units(seen: Readings, bound: Bound) -> Iterator[Problem]:
    """Units of work that the system should have ended by now."""
    for unit in administration.open_units(limit=MOST, now=seen.now):
        if unit.queue_ids and unit.xid is None and (unit.is_late or not unit.is_alive):
            name = say(gettext_noop("Unit of work %(number)s"), number=str(unit.id))
            text = gettext_noop(
                "%(unit)s is past its deadline, and keeps %(n)s messages."
            )
            if not unit.is_alive:
                text = gettext_noop(
                    "%(unit)s has no process any more, and keeps %(n)s messages."
                )
            yield Problem(
                f"unit of work {unit.id}",
                say(text, unit=name, n=unit.entries),
                unit.entries,
                tuple(seen.names[one] for one in unit.queue_ids if one in seen.names),
                since=unit.since,
                key=(unit.id,),
                name=name,
            )


def undecided(seen: Readings, bound: Bound) -> Iterator[Problem]:
    if works := prepared():
        many, since = len(works), works[0].started_at
        name, text = MANY_WAIT if many > 1 else ONE_WAITS
        name = say(name, n=many)
        text = say(text, units=name)
        yield Problem("prepared", text, many, since=since, is_urgent=False, name=name)


def approvals(seen: Readings, bound: Bound) -> Iterator[Problem]:
    waiting = Approval.objects.filter(
        approved_by=None,
        expires_at__gt=seen.now,
        operation__state=Operation.State.PLANNED,
    )
    found = waiting.order_by("pk").values_list("pk", "asked_at")
    for pk, since in found[:MOST]:
        name = say(gettext_noop("Operation %(number)s"), number=str(pk))
        text = say(
            gettext_noop("%(operation)s waits for the approval of a second person."),
            operation=name,
        )
        yield Problem(f"operation {pk}", text, since=since, key=(pk,), name=name)


def full_disk(seen: Readings, bound: Bound) -> Iterator[Problem]:
    """The disk with this process's data. Without a threshold: if little of it is
    free."""
    found = disk.look()
    if found is not None and (bound.threshold or found.is_low):
        used = int(100 - found.free_percent)
        code = "disk-fills"
        yield Problem(found.path, str(found), used, is_urgent=found.is_full, code=code)


def silent(seen: Readings, bound: Bound) -> Iterator[Problem]:
    for one in silent_processes.silent():
        text = say(
            gettext_noop(
                "The process %(process)s has not answered for %(seconds)s seconds: it"
                " hangs, or it was stopped. What it holds waits until its deadline."
            ),
            process=str(one),
            seconds=f"{one.silent_s:.0f}",
        )
        yield Problem(str(one), text, is_urgent=False, code="process-silent")
