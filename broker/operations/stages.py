"""How far an operation is, in three lanes: what it tries first, the parts after that,
and the rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from broker import sql
from broker.models import Course, OperationItem

Status, Fate = OperationItem.Status, OperationItem.Fate
NAMES = ("canary", "ramp", "rest")


@dataclass(slots=True)
class Lane:
    """One of the three."""

    name: str
    planned: int = 0  # items to which nothing was done yet
    done: int = 0
    skipped: int = 0
    fates: Counter[int | None] = field(default_factory=Counter)  # of what is done

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
        """Those that are not known to have ended."""
        return self.fates[None]


def lanes(course: Course) -> list[Lane]:
    """The three lanes, in their order; what was left out is in none."""
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
