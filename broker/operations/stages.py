"""Progress of an operation in three stages: canary, ramp and rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from broker import sql
from broker.models import Course, OperationItem

Status, Fate = OperationItem.Status, OperationItem.Fate
NAMES = ("canary", "ramp", "rest")


@dataclass(slots=True)
class Lane:
    """The items of one stage: their numbers by status and outcome."""

    name: str
    planned: int = 0  # number of items not processed yet
    done: int = 0
    skipped: int = 0
    # Number of done items, by the fate of their copies.
    fates: Counter[int | None] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.planned + self.done + self.skipped

    @property
    def processed(self) -> int:
        return self.fates[Fate.PROCESSED]

    @property
    def dead(self) -> int:
        return self.fates[Fate.DEAD]

    @property
    def waiting(self) -> int:
        """The number of done items whose copies have no known outcome."""
        return self.fates[None]


def lanes(course: Course) -> list[Lane]:
    """The three stages, in order. Items that were left out of the plan are in no
    stage."""
    found = [Lane(name) for name in NAMES]
    counted = {
        "operation_id": course.pk,
        "chosen": course.chosen,
        "ramped_to": course.ramped_to,
    }
    for number, status, fate, messages in sql.run("course_lanes", counted):
        lane = found[number]
        match status:
            case Status.PLANNED:
                lane.planned += messages
            case Status.SKIPPED:
                lane.skipped += messages
            case Status.DONE:
                lane.done += messages
                lane.fates[fate] += messages
    return found
