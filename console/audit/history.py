"""The history of an operation or a queue, from the audit.

Users who may see the object may read its history; the rest of the audit has its own
permission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from broker.formats import moments
from broker.models import Act, AuditRecord, Operation, Queue
from broker.security.audit import AuditFilter, found

RECENT = 10  # number of actions shown of a queue
LONGEST = 200  # number of actions shown of an operation
DONE = AuditRecord.Outcome.DONE

Words = str | Callable[[dict[str, Any]], str]


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One action of a user, its time and its reason."""

    actor: str
    words: str  # the text after the user's name
    at: datetime
    reason: str = ""


def altered(detail: dict[str, Any]) -> str:
    """Changes of the operation's schedule in this record."""
    if "pace" in detail:
        return pace_set(detail["pace"])
    if "start_at" in detail:
        return start_set(detail["start_at"])
    if "patch" in detail:
        return "gave it a patch" if detail["patch"] else "removed its patch"
    if "kept" in detail:
        which = "a sample of" if detail["sampled"] else "the first"
        taken_out = detail.get("taken_out", 0)
        return f"kept {which} {detail['kept']:,}; {taken_out:,} were removed"
    return (
        f"included {detail['above_the_ceiling']:,} that were left out: {detail['why']}"
    )


def pace_set(pace: int | None) -> str:
    return f"set its pace to {pace:,} a second" if pace else "removed its pace"


def start_set(at: str | None) -> str:
    if at is None:
        return "took away its time to start"
    return f"set its start to {moments.in_utc(moments.parse(at), moments.MINUTE)}"


def carried_on(detail: dict[str, Any]) -> str:
    return "sent all the rest" if detail["at_once"] else "continued it"


def planned(detail: dict[str, Any]) -> str:
    if old := detail.get("rest_of"):
        return f"planned it, for the rest of operation {old}"
    if old := detail.get("again"):
        return f"planned it, to do operation {old} again"
    return "planned it"


def paused(detail: dict[str, Any]) -> str:
    end = detail.get("changed", {}).get("paused_until", {}).get("after")
    if not end:
        return "paused it"
    return f"paused it until {moments.in_utc(moments.parse(end), moments.MINUTE)}"


WITH_IT: dict[str, Words] = {
    Act.PLAN: planned,
    Act.UNDO: "planned it",
    Act.START: "started it",
    Act.CANCEL: "cancelled it",
    Act.HALT: "paused it",
    Act.CARRY_ON: carried_on,
    Act.ALTER: altered,
    Act.EXPLAIN: "gave a reason for the approval",
    Act.APPROVE: "approved it",
}
ON_IT: dict[str, Words] = {
    Act.PAUSE: paused,
    Act.RESUME: "resumed it",
    Act.RESET_COUNTERS: "reset counters",
    Act.START_DELIVERY: "started delivery again",
    Act.RESTORE: "restored messages from the discard bin",
    Act.WRITE_RULES: "wrote rules for its dead letters",
    Act.SWITCH_RULES: "switched the rules for its dead letters",
    Act.CREATE: "created it",
    Act.CHANGE: "changed its settings",
}


def of_operation(operation: Operation) -> list[HistoryEntry]:
    """The history of an operation from its plan on, including its undo, and without the
    reason of the plan, which the page shows elsewhere.
    """
    undo = Operation.objects.filter(undoes=operation).first()
    records = found(AuditFilter(operation=operation.pk, outcome=DONE))[:LONGEST]
    deeds = list(history_entries(records, WITH_IT))
    if undo is not None:
        records = found(AuditFilter(operation=undo.pk, outcome=DONE))[:LONGEST]
        deeds += history_entries(
            records,
            {
                Act.UNDO: f"planned to undo it, as operation {undo.pk}",
                Act.START: f"undid it, by operation {undo.pk}",
            },
        )
    return sorted(deeds, key=lambda deed: deed.at)


def history_entries(
    records: Iterable[AuditRecord], of: Mapping[str, Words]
) -> Iterable[HistoryEntry]:
    """Reverse the order: the oldest first."""
    for one in reversed(list(records)):
        if (words := of.get(one.act)) is not None:
            yield HistoryEntry(one.actor, describe_record(one, words), one.at)


def describe_record(one: AuditRecord, words: Words) -> str:
    return words if isinstance(words, str) else words(one.details)


def of_queue(queue: Queue) -> list[HistoryEntry]:
    """The last actions on a queue, the newest first."""
    done = found(AuditFilter(outcome=DONE)).filter(
        object_kind="queue",
        object_id=str(queue.pk),
        object_name=queue.name,
        act__in=ON_IT,
    )
    return [
        HistoryEntry(
            one.actor, describe_record(one, ON_IT[one.act]), one.at, one.reason
        )
        for one in done[:RECENT]
    ]
