"""Live numbers of an operation's page: queried once, sent to all open pages.

Numbers are replaced in place. When the page's structure changes, as at the end of a
stage, its version changes and the page reloads its content.
"""

from __future__ import annotations

from typing import Any

from django.template.loader import render_to_string
from django.utils import timezone

from broker import operations
from broker.acts.operations.ledgers import Ledger, ledger_of
from broker.acts.operations.rights import visible_operations
from broker.acts.operations.states import halt_of, schedule_of
from broker.models import Operation, OperationPatch, OperationSchedule
from broker.security import authorities
from console.operations import follow_up, progress
from console.operations.results import describe_operation, undo_until
from dashboards.live import topics


def may_see(user: authorities.Principal, operation_id: int) -> bool:
    return visible_operations(user).filter(pk=operation_id).exists()


def look(operation_id: int) -> str:
    """The numbers of an operation, by place on the page."""
    found = Operation.objects.select_related("schedule").filter(pk=operation_id).first()
    if found is None:
        return ""
    ledger, schedule = ledger_of(found), schedule_of(found)
    patch = OperationPatch.objects.filter(pk=operation_id).first()
    looked = patch.looked if patch and not patch.is_looked else None
    context = {
        "operation": found,
        "ledger": ledger,
        "schedule": schedule,
        "said": describe_operation(found, ledger),
        "looked": looked,
        "turn": turn_of(found, ledger, schedule, is_looking=looked is not None),
    }
    if found.state != Operation.State.PLANNED:
        context |= since(found, ledger, schedule)
    return render_to_string("console/operations/_numbers.html", context)


def since(
    found: Operation, ledger: Ledger, schedule: OperationSchedule
) -> dict[str, Any]:
    """The progress of an operation, and the outcomes of what it sent."""
    copies = follow_up.outcomes_of(found, ledger, schedule)
    halt = halt_of(schedule)
    lanes = progress.lanes_of(schedule)
    until = undo_until(found, ledger.done)
    has_nothing = until is not None and not operations.leaves_any(found)
    return {
        "undo_until": None if has_nothing else until,
        "has_nothing_left": has_nothing,
        "copies": copies,
        "stages": list(progress.stages_of(found, schedule, ledger, copies)),
        "waits": list(progress.waits_for(found, schedule, copies)),
        "late": progress.is_late(found, schedule, timezone.now()),
        "left": progress.left_of(found, schedule, ledger),
        "halt": halt,
        "halted": halt and progress.halted(halt),
        "lanes": lanes,
        "turn": turn_of(
            found,
            ledger,
            schedule,
            is_late=progress.is_late(found, schedule, timezone.now()) is not None,
            is_settled=copies is None or not copies.waiting,
            has_died=copies is not None and copies.dead > 0,
            has_nothing_left=has_nothing,
        ),
    }


def turn_of(
    found: Operation, ledger: Ledger, schedule: OperationSchedule, **more: bool
) -> str:
    """The version of the page's structure."""
    parts: list[object] = [found.state, schedule.stage, schedule.pace]
    parts += [schedule.start_at, bool(schedule.start_problem)]
    parts += [schedule.paused_at is None, ledger.planned > 0, len(ledger.why_skipped)]
    return "-".join(str(one) for one in [*parts, *more.values()])


topics.register(topics.Topic("operation", may_see, look))
