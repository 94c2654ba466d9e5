"""Progress of an operation in three stages: canary, ramp and rest."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from broker import sql
from broker.models import OperationItem, OperationSchedule

Status, Outcome = OperationItem.Status, OperationItem.Outcome
NAMES = ("canary", "ramp", "rest")


@dataclass(slots=True)
class Lane:
    """The items of one stage: their numbers by status and outcome."""

    name: str
    planned: int = 0  # number of items not processed yet
    done: int = 0
    skipped: int = 0
    # Number of done items, by the outcome of their copies.
    outcomes: Counter[int | None] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        return self.planned + self.done + self.skipped

    @property
    def processed(self) -> int:
        return self.outcomes[Outcome.PROCESSED]

    @property
    def dead(self) -> int:
        return self.outcomes[Outcome.DEAD]

    @property
    def waiting(self) -> int:
        """The number of done items whose copies have no known outcome."""
        return self.outcomes[None]


def lanes(schedule: OperationSchedule) -> list[Lane]:
    """The three stages, in order. Items that were left out of the plan are in no
    stage."""
    found = [Lane(name) for name in NAMES]
    counted = {
        "operation_id": schedule.pk,
        "chosen": schedule.chosen,
        "ramped_to": schedule.ramped_to,
    }
    for number, status, outcome, messages in sql.run("schedule_lanes", counted):
        lane = found[number]
        match status:
            case Status.PLANNED:
                lane.planned += messages
            case Status.SKIPPED:
                lane.skipped += messages
            case Status.DONE:
                lane.done += messages
                lane.outcomes[outcome] += messages
    return found
