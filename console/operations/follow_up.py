"""What became of messages after an operation sent them on.

The ledger knows of those that a worker has looked at; of the others, as many as can be
looked up quickly are looked up now.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from broker.models import Course, Operation, OperationItem
from broker.operations import copy_outcomes, error_history
from console.operations.results import Ledger, undoing_of

TRACED = 1000  # copies at most that are looked up
Fate = OperationItem.Fate


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What became of the copies that an operation made."""

    processed: int
    known: Counter[str]  # dead again of what they had died of before, by fingerprint
    new: Counter[str]  # of anything else
    expired: int
    taken: int  # away, by other operations
    unknown: int
    untouched: int  # on their queue, and nobody had them
    under_way: int  # with a consumer, or to be delivered again
    unseen: int  # on their queue as far as is known

    @property
    def dead(self) -> int:
        return self.known.total() + self.new.total()

    @property
    def waiting(self) -> int:
        return self.untouched + self.under_way + self.unseen

    @property
    def of_what(self) -> str:
        """Of how many causes they died: "1 known, 1 new cause"."""
        parts = [
            f"{len(one)} {word}"
            for one, word in ((self.known, "known"), (self.new, "new"))
            if one
        ]
        several = len(self.new or self.known) > 1
        return f"{', '.join(parts)} cause{'s' if several else ''}" if parts else ""


def aftermath_of(
    operation: Operation, ledger: Ledger, course: Course | None
) -> Aftermath | None:
    """Where the copies are by now; none where nobody follows them."""
    undoing = undoing_of(operation)
    if not copy_outcomes.follows(operation) or (undoing and undoing.started_at):
        return None  # what was taken back has not finished
    if not ledger.done:
        return None
    ends, seen = Counter(ledger.ends), copy_outcomes.OutcomeCheck()
    unseen = ends.pop((None, ""), 0)
    if 0 < unseen <= TRACED:
        seen = copy_outcomes.look(copy_outcomes.open_items(operation.pk, limit=TRACED))
        ends.update((end.fate, end.died_of) for end in seen.ends.values())
        unseen = 0
    deaths = {
        cause: count for (fate, cause), count in ends.items() if fate == Fate.DEAD
    }
    before = known_causes(operation, course) if deaths else set()
    return Aftermath(
        processed=ends[Fate.PROCESSED, ""],
        known=Counter({one: n for one, n in deaths.items() if one in before}),
        new=Counter({one: n for one, n in deaths.items() if one not in before}),
        expired=ends[Fate.EXPIRED, ""],
        taken=ends[Fate.TAKEN, ""],
        unknown=ends[Fate.UNKNOWN, ""],
        untouched=len(seen.untouched),
        under_way=len(seen.under_way),
        unseen=unseen,
    )


def known_causes(operation: Operation, course: Course | None) -> set[str]:
    """What the messages of an operation had died of before it."""
    if course is not None and course.causes is not None:
        return set(course.causes)
    return {one.fingerprint for one in error_history.whole(operation.pk)}
