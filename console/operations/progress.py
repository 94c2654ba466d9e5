"""The progress of an operation as text: its stages, and the reasons why it waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils.translation import gettext, gettext_noop, ngettext

from broker import operations
from broker.acts.operations.ledgers import SHORTEST, Ledger
from broker.formats import moments
from broker.formats.quantities import write_count
from broker.models import Operation, OperationSchedule
from broker.operations import Lane, copy_outcomes
from broker.operations.canary import Halt, StopReason
from console.operations.follow_up import CopyOutcomes
from console.operations.wording import words_of

State, Trial = Operation.State, OperationSchedule.Stage

LATE = timedelta(seconds=10)  # an operation is late after this time without a worker
HALTS: dict[StopReason, str] = {
    StopReason.AGAIN: gettext_noop(
        "%(n)s of %(tried)s dead-lettered again, with the same error: “%(pattern)s”."
    ),
    StopReason.NEW: gettext_noop(
        "%(n)s of %(tried)s dead-lettered with a new error: “%(pattern)s”."
    ),
    StopReason.EXPIRED: gettext_noop(
        "%(n)s of %(tried)s expired before a consumer processed one."
    ),
    StopReason.UNTAKEN: gettext_noop(
        "No consumer has taken %(n)s of the %(tried)s that were tried."
    ),
}
REMEDIES: dict[StopReason, str] = {
    StopReason.AGAIN: gettext_noop(
        "Fix the cause first. If you continue, only further failures stop it again."
    ),
    StopReason.NEW: gettext_noop(
        "Look at it first. If you continue, only further failures stop it again."
    ),
    StopReason.EXPIRED: gettext_noop(
        "Check the time to live of messages there, and whether a consumer runs."
    ),
    StopReason.UNTAKEN: gettext_noop(
        "Check whether a consumer runs. If you continue, the operation waits once more."
    ),
}
LANES = {
    "canary": gettext_noop("Canary"),
    "ramp": gettext_noop("Larger parts"),
    "rest": gettext_noop("The rest"),
}


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of an operation in the list of its page."""

    name: str
    detail: str = ""
    at: datetime | None = None
    is_done: bool = False
    is_current: bool = False


def stages_of(
    operation: Operation,
    schedule: OperationSchedule,
    ledger: Ledger,
    copies: CopyOutcomes | None,
) -> Iterator[Stage]:
    """The stages from plan to end; one is current."""
    is_planned, is_over = operation.state == State.PLANNED, bool(operation.ended_at)
    tries = schedule.stage != Trial.REST
    yield Stage(gettext("Planned"), at=operation.created_at, is_done=True)
    frozen = write_count(ledger.total)
    yield Stage(gettext("Selected"), frozen, is_done=True, is_current=is_planned)
    if schedule.canaries:
        yield Stage(
            gettext("Canary"),
            write_count(len(schedule.chosen) or schedule.canaries),
            operation.started_at,
            is_done=bool(schedule.rest_at) or is_over,
            is_current=operation.state == State.RUNNING and tries,
        )
    yield Stage(
        gettext(words_of(operation).doing),
        "" if is_planned else write_count(ledger.handled),
        schedule.rest_at or (None if schedule.canaries else operation.started_at),
        is_done=is_over,
        is_current=operation.state == State.RUNNING and not tries,
    )
    waiting = copies.waiting if copies else 0
    if copy_outcomes.follows(operation):
        open_ones = gettext("%(n)s open") % {"n": write_count(waiting)}
        yield Stage(
            gettext("Waiting for outcomes"),
            open_ones if waiting and is_over else "",
            operation.ended_at,
            is_done=is_over and not waiting,
            is_current=is_over and waiting > 0,
        )
    is_cancelled = operation.state == State.CANCELLED
    last = gettext("Cancelled") if is_cancelled else gettext("Done")
    ends_at = schedule.settled_at or (None if waiting else operation.ended_at)
    is_ended = is_over and not waiting
    yield Stage(last, "", ends_at, is_done=is_ended, is_current=is_ended)


def halted(halt: Halt) -> tuple[str, str]:
    """Why the operation stopped itself, and the recommended action."""
    happened = gettext(HALTS[halt.why]) % {
        "n": write_count(halt.messages),
        "tried": write_count(halt.tried),
        "pattern": halt.pattern or gettext("no error text"),
    }
    return happened, gettext(REMEDIES[halt.why])


def waits_for(
    operation: Operation, schedule: OperationSchedule, copies: CopyOutcomes | None
) -> Iterator[str]:
    """Why a running operation waits, and the operations that take turns with it."""
    if operation.state != State.RUNNING:
        return
    if schedule.paused_at:
        yield gettext("It is paused: nothing is done until somebody continues it.")
    elif schedule.stage == Trial.WATCH:
        yield from unfinished_canary(schedule, copies)
    elif schedule.stage != Trial.HALTED and schedule.pace:
        pace = write_count(schedule.pace)
        yield gettext("It sends at most %(n)s a second.") % {"n": pace}
    running = operations.running()
    beside = len(running) - 1
    if beside and operation.pk in running:
        text = ngettext(
            "It takes turns with another operation.",
            "It takes turns with %(n)s other operations.",
            beside,
        )
        yield text % {"n": beside}


def is_late(
    operation: Operation, schedule: OperationSchedule, now: datetime
) -> timedelta | None:
    """How long no worker has processed the operation; None if this is short."""
    stands = schedule.paused_at or schedule.stage == Trial.HALTED
    if operation.state != State.RUNNING or stands or not operation.started_at:
        return None
    since = now - max(schedule.stepped_at or operation.started_at, operation.started_at)
    return since if since > LATE else None


def unfinished_canary(
    schedule: OperationSchedule, copies: CopyOutcomes | None
) -> Iterator[str]:
    if copies is None:
        return
    parts = [
        text % {"n": write_count(count)}
        for count, text in (
            (copies.untouched, gettext("%(n)s that no consumer has had yet")),
            (copies.under_way, gettext("%(n)s that a consumer has, or will get again")),
        )
        if count
    ]
    if parts:
        yield gettext("It waits for the canary: %(what)s.") % {"what": ", ".join(parts)}
    if copies.untouched and not copies.under_way and schedule.watched_since:
        until = schedule.watched_since + timedelta(
            seconds=settings.BROKER_CANARY_PATIENCE_S
        )
        at = moments.in_utc(until, "%H:%M:%S")
        yield gettext("If no consumer takes them, it stops at %(time)s.") % {"time": at}


def left_of(
    operation: Operation, schedule: OperationSchedule, ledger: Ledger
) -> timedelta | None:
    """The estimated remaining time for sending, if known."""
    if operation.state != State.RUNNING or schedule.paused_at:
        return None
    if schedule.stage != Trial.REST:
        return None
    if schedule.pace:
        left = timedelta(seconds=ledger.planned / schedule.pace)
        return left if left >= SHORTEST else None
    return ledger.left(operation.started_at)


def lanes_of(schedule: OperationSchedule) -> list[tuple[str, Lane]]:
    """The trial and the rest, with their titles; none without a trial."""
    if not schedule.chosen:
        return []
    return [
        (gettext(LANES[lane.name]), lane)
        for lane in operations.lanes(schedule)
        if lane.total
    ]
