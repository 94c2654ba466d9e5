"""How problems of units of work, operations, processes and the disk are found."""

from __future__ import annotations

from collections.abc import Iterator

from broker.formats.quantities import write_count
from broker.models import Approval, Operation
from broker.monitoring import disk, silent_processes
from broker.problems.problem import Bound, Problem
from broker.problems.readings import MOST, Readings
from broker.transactions import administration
from broker.transactions.prepared import prepared


def lost_units(seen: Readings, bound: Bound) -> Iterator[Problem]:
    """Units of work that the system should have ended by now."""
    for unit in administration.open_units(limit=MOST, now=seen.now):
        if unit.queue_ids and unit.xid is None and (unit.is_late or not unit.is_alive):
            late = "is past its deadline"
            why = late if unit.is_alive else "has no process any more"
            yield Problem(
                f"unit of work {unit.id}",
                f"Unit of work {unit.id} {why}, and keeps {unit.entries:,} messages.",
                unit.entries,
                tuple(seen.names[one] for one in unit.queue_ids if one in seen.names),
                since=unit.since,
                key=(unit.id,),
                name=f"Unit of work {unit.id}",
            )


def undecided(seen: Readings, bound: Bound) -> Iterator[Problem]:
    if works := prepared():
        many, since = len(works), works[0].started_at
        name = f"{write_count(many, 'unit')} of work"
        text = f"{name} wait{'s'[many != 1 :]} for a coordinator."
        yield Problem("prepared", text, many, since=since, is_urgent=False, name=name)


def approvals(seen: Readings, bound: Bound) -> Iterator[Problem]:
    waiting = Approval.objects.filter(
        approved_by=None,
        expires_at__gt=seen.now,
        operation__state=Operation.State.PLANNED,
    )
    found = waiting.order_by("pk").values_list("pk", "asked_at")
    for pk, since in found[:MOST]:
        name = f"Operation {pk}"
        text = f"{name} waits for the approval of a second person."
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
        text = (
            f"The process {one} has not answered for {one.silent_s:.0f} seconds: it"
            " hangs, or it was stopped. What it holds waits until its deadline."
        )
        yield Problem(str(one), text, is_urgent=False, code="process-silent")
