"""The state of an operation: the answer of each act on one, and what doors show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from broker.acts.operations.ledgers import Ledger, MessageRoute, ledger_of
from broker.acts.operations.siblings import Sibling, siblings_in
from broker.formats import moments
from broker.formats.quantities import write_count
from broker.models import Operation, OperationItem, OperationSchedule
from broker.operations import canary, copy_outcomes
from broker.operations.canary import Halt
from broker.security.authorities import Principal

Outcome = OperationItem.Outcome
# Relations that are read together with an operation, by ``select_related``.
ABOUT = ("created_by", "schedule__start_by", "approval__approved_by")

ABOVE = "resubmitted as often as the queue allows, and dead-lettered again each time."
NOTICES = (
    "notices of a link, whose target has the message or may have it, or which sends it"
    " itself. To send a notice could double its message."
)


@dataclass(frozen=True, slots=True)
class Stop:
    """Why an operation stopped itself."""

    why: str  # the reason: again, new, expired or untaken
    messages: int  # messages that made the operation stop
    tried: int  # messages that were watched
    fingerprint: str  # fingerprint of their error, if dead-lettered
    pattern: str  # the error, for people


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """The schedule of an operation: stage, rate limit, trial."""

    stage: str  # trial, watch, halted, rest
    pace: int | None  # messages a second; null: no limit
    canary: int  # messages of the trial; 0: no trial
    paused_at: datetime | None
    stop: Stop | None
    start_at: datetime | None  # when the plan starts by itself; null: it does not
    start_by: str | None  # on whose behalf it starts
    start_problem: str  # why it did not start at that time; empty: nothing is wrong


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """Outcomes of the messages that were sent, as far as known."""

    processed: int
    dead: int  # messages that became dead letters again
    expired: int
    taken: int  # messages removed by other operations
    unknown: int
    open: int


@dataclass(frozen=True, slots=True)
class ApprovalState:
    """The approval that a plan needs."""

    seal: str  # digest of exactly this plan
    expires_at: datetime  # after this time the plan can be neither approved nor started
    approved_by: str | None
    approved_at: datetime | None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Messages that are skipped, and the reason."""

    why: str
    messages: int


@dataclass(frozen=True, slots=True)
class OperationState:
    """An operation and its progress. The last five fields are null in lists."""

    columns: ClassVar[Sequence[str]] = (
        *("id", "kind", "state", "scope", "planned", "done", "skipped", "created_by"),
        "created_at",
    )

    id: int
    kind: str
    state: str
    scope: str  # the set of messages, in words
    argument: str  # the queue of a move or a copy, or the new priority
    reason: str
    undoes: int | None  # the operation that it undoes
    created_by: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    planned: int  # items that are still to be worked on
    done: int
    skipped: int
    left_out: int  # messages left out of the plan
    approval: ApprovalState | None  # null: no approval needed
    schedule: ScheduleState
    # Sentences with the reasons why messages were left out of the plan.
    left_out_because: str | None = None
    # Outcomes of the copies; null if the broker does not follow the copies.
    outcomes: OutcomeCounts | None = None
    # Other queues that get copies; empty: only the queues that the messages were on.
    siblings: list[Sibling] | None = None
    ways: list[MessageRoute] | None = None
    why_skipped: list[Skipped] | None = None  # the most frequent reason first

    def __str__(self) -> str:
        lines = [
            f"Operation {self.id}, {self.state}: {self.scope}. {self.done:,} done,"
            f" {self.skipped:,} skipped, {self.planned:,} to do."
        ]
        if self.left_out_because:
            lines.append(self.left_out_because)
        if self.approval is not None and self.approval.approved_at is None:
            lines.append(f"It waits for approval; its seal is {self.approval.seal}.")
        if self.state == Operation.State.PLANNED and self.schedule.start_at:
            at = moments.in_utc(self.schedule.start_at)
            why = self.schedule.start_problem
            lines.append(
                f"It did not start at {at}: {why}" if why else f"Starts at {at}."
            )
        return "\n".join(lines)


def read_state(actor: Principal, number: int) -> OperationState:
    """The present state of an operation that the actor may see."""
    found = Operation.objects.select_related(*ABOUT).get(pk=number)
    return state_of(actor, found, ledger_of(found))


def state_of(actor: Principal, found: Operation, ledger: Ledger) -> OperationState:
    """The state of an operation that was read with ``ABOUT``."""
    counts = Counter(
        planned=ledger.planned,
        done=ledger.done,
        skipped=ledger.skipped,
        left_out=ledger.left_out,
    )
    return replace(
        brief_state(found, counts),
        left_out_because=left_out(ledger),
        outcomes=outcomes_of(ledger) if copy_outcomes.follows(found) else None,
        siblings=siblings_in(found, ledger, actor),
        ways=ledger.ways,
        why_skipped=[Skipped(*one) for one in ledger.why_skipped],
    )


def brief_state(found: Operation, counts: Counter[str]) -> OperationState:
    """The state of an operation, without what its items say.

    Args:
        found: with its schedule and its approval.
        counts: of its items, by status.
    """
    approval = getattr(found, "approval", None)
    by = approval.approved_by if approval else None
    schedule = schedule_of(found)
    halt = halt_of(schedule)
    return OperationState(
        id=found.pk,
        kind=found.kind,
        state=found.state,
        scope=found.scope,
        argument=found.argument,
        reason=found.reason,
        undoes=found.undoes_id,
        created_by=found.created_by.get_username(),
        created_at=found.created_at,
        started_at=found.started_at,
        ended_at=found.ended_at,
        planned=counts["planned"],
        done=counts["done"],
        skipped=counts["skipped"],
        left_out=counts["left_out"],
        approval=approval
        and ApprovalState(
            approval.seal,
            approval.expires_at,
            by.get_username() if by else None,
            approval.approved_at,
        ),
        schedule=ScheduleState(
            schedule.stage,
            schedule.pace,
            schedule.canaries,
            schedule.paused_at,
            None if halt is None else Stop(**halt.stored()),
            schedule.start_at,
            schedule.start_by.get_username() if schedule.start_by else None,
            schedule.start_problem,
        ),
    )


def schedule_of(operation: Operation) -> OperationSchedule:
    """The schedule of an operation; a new one, not saved, if none is stored."""
    found: OperationSchedule | None = getattr(operation, "schedule", None)
    return found or OperationSchedule(operation=operation)


def halt_of(schedule: OperationSchedule) -> Halt | None:
    """Why an operation stopped itself, if it is still stopped."""
    if schedule.stage != OperationSchedule.Stage.HALTED or not schedule.halt:
        return None
    return canary.read(schedule.halt)


def left_out(ledger: Ledger) -> str:
    """A sentence for each reason why messages were left out."""
    counts = {
        ABOVE: ledger.left_out - ledger.notices,
        NOTICES: ledger.notices,
    }
    return " ".join(
        f"{write_count(n, 'message')} {'was' if n == 1 else 'were'} left out: {why}"
        for why, n in counts.items()
        if n
    )


def outcomes_of(ledger: Ledger) -> OutcomeCounts:
    counts = dict.fromkeys(OutcomeCounts.__slots__, 0)
    for (outcome, _), messages in ledger.ends.items():
        counts["open" if outcome is None else Outcome(outcome).name.lower()] += messages
    return OutcomeCounts(**counts)
