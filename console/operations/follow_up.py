"""The outcomes of messages that an operation sent.

Outcomes that a worker has recorded are read; of the others, as many as possible are
looked up now.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from broker.acts.operations.ledgers import Ledger
from broker.models import Operation, OperationItem, OperationSchedule
from broker.operations import copy_outcomes, error_history
from console.operations.results import undoing_of

TRACED = 1000  # copies looked up at most
Outcome = OperationItem.Outcome


@dataclass(frozen=True, slots=True)
class CopyOutcomes:
    """The outcomes of the copies that an operation made."""

    processed: int
    known: Counter[str]  # copies that died again with a known error, by fingerprint
    new: Counter[str]  # copies that died again with a new error, by fingerprint
    expired: int
    taken: int  # copies removed by other operations
    unknown: int
    untouched: int  # still on their queue, never delivered
    under_way: int  # copies with a consumer, or waiting for redelivery
    unseen: int  # copies that were not looked up, because there are too many

    @property
    def dead(self) -> int:
        return self.known.total() + self.new.total()

    @property
    def waiting(self) -> int:
        return self.untouched + self.under_way + self.unseen

    @property
    def of_what(self) -> str:
        """The number of their causes: "1 known, 1 new cause"."""
        known, new = len(self.known), len(self.new)
        if not new:
            text = ngettext("%(known)s known cause", "%(known)s known causes", known)
            return text % {"known": known} if known else ""
        causes = ngettext("%(new)s new cause", "%(new)s new causes", new)
        causes %= {"new": new}
        known_ones = gettext("%(known)s known") % {"known": known}
        return f"{known_ones}, {causes}" if known else causes


def outcomes_of(
    operation: Operation, ledger: Ledger, schedule: OperationSchedule | None
) -> CopyOutcomes | None:
    """The outcomes of the copies; None if they are not followed."""
    undoing = undoing_of(operation)
    if not copy_outcomes.follows(operation) or (undoing and undoing.started_at):
        return None  # copies that are undone have no outcome of their own
    if not ledger.done:
        return None
    ends, seen = Counter(ledger.ends), copy_outcomes.OutcomeCheck()
    unseen = ends.pop((None, ""), 0)
    if 0 < unseen <= TRACED:
        seen = copy_outcomes.look(copy_outcomes.open_items(operation.pk, limit=TRACED))
        ends.update((end.outcome, end.died_of) for end in seen.ends.values())
        unseen = 0
    deaths = {
        cause: count
        for (outcome, cause), count in ends.items()
        if outcome == Outcome.DEAD
    }
    before = known_causes(operation, schedule) if deaths else set()
    return CopyOutcomes(
        processed=ends[Outcome.PROCESSED, ""],
        known=Counter({one: n for one, n in deaths.items() if one in before}),
        new=Counter({one: n for one, n in deaths.items() if one not in before}),
        expired=ends[Outcome.EXPIRED, ""],
        taken=ends[Outcome.TAKEN, ""],
        unknown=ends[Outcome.UNKNOWN, ""],
        untouched=len(seen.untouched),
        under_way=len(seen.under_way),
        unseen=unseen,
    )


def known_causes(operation: Operation, schedule: OperationSchedule | None) -> set[str]:
    """The errors of the operation's messages before it."""
    if schedule is not None and schedule.causes is not None:
        return set(schedule.causes)
    return {one.fingerprint for one in error_history.whole(operation.pk)}
