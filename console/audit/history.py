"""The history of an operation or a queue, from the audit.

Users who may see the object may read its history; the rest of the audit has its own
permission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext, gettext_noop

from broker.formats import moments
from broker.formats.quantities import write_count
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
        given, removed = gettext("gave it a patch"), gettext("removed its patch")
        return given if detail["patch"] else removed
    if "kept" in detail:
        return stored_count(detail)
    return gettext("included %(n)s that were left out: %(why)s") % {
        "n": write_count(detail["above_the_ceiling"]),
        "why": detail["why"],
    }


def stored_count(detail: dict[str, Any]) -> str:
    if detail["sampled"]:
        text = gettext("kept a sample of %(kept)s; %(removed)s were removed")
    else:
        text = gettext("kept the first %(kept)s; %(removed)s were removed")
    removed = write_count(detail.get("taken_out", 0))
    return text % {"kept": write_count(detail["kept"]), "removed": removed}


def pace_set(pace: int | None) -> str:
    if not pace:
        return gettext("removed its pace")
    return gettext("set its pace to %(n)s a second") % {"n": write_count(pace)}


def start_set(at: str | None) -> str:
    if at is None:
        return gettext("took away its time to start")
    return gettext("set its start to %(time)s") % {"time": to_the_minute(at)}


def to_the_minute(at: str) -> str:
    return moments.in_utc(moments.parse(at), moments.MINUTE)


def carried_on(detail: dict[str, Any]) -> str:
    if detail["at_once"]:
        return gettext("sent all the rest")
    return gettext("continued it")


def planned(detail: dict[str, Any]) -> str:
    if old := detail.get("rest_of"):
        text = gettext("planned it, for the rest of operation %(number)s")
        return text % {"number": old}
    if old := detail.get("again"):
        text = gettext("planned it, to do operation %(number)s again")
        return text % {"number": old}
    return gettext("planned it")


def paused(detail: dict[str, Any]) -> str:
    end = detail.get("changed", {}).get("paused_until", {}).get("after")
    if not end:
        return gettext("paused it")
    return gettext("paused it until %(time)s") % {"time": to_the_minute(end)}


WITH_IT: dict[str, Words] = {
    Act.PLAN: planned,
    Act.UNDO: gettext_noop("planned it"),
    Act.START: gettext_noop("started it"),
    Act.CANCEL: gettext_noop("cancelled it"),
    Act.HALT: gettext_noop("paused it"),
    Act.CARRY_ON: carried_on,
    Act.ALTER: altered,
    Act.EXPLAIN: gettext_noop("gave a reason for the approval"),
    Act.APPROVE: gettext_noop("approved it"),
}
ON_IT: dict[str, Words] = {
    Act.PAUSE: paused,
    Act.RESUME: gettext_noop("resumed it"),
    Act.RESET_COUNTERS: gettext_noop("reset counters"),
    Act.START_DELIVERY: gettext_noop("started delivery again"),
    Act.RESTORE: gettext_noop("restored messages from the discard bin"),
    Act.WRITE_RULES: gettext_noop("wrote rules for its dead letters"),
    Act.SWITCH_RULES: gettext_noop("switched the rules for its dead letters"),
    Act.CREATE: gettext_noop("created it"),
    Act.CHANGE: gettext_noop("changed its settings"),
}


def of_operation(operation: Operation) -> list[HistoryEntry]:
    """The history of an operation from its plan on, including its undo, and without the
    reason of the plan, which the page shows elsewhere.
    """
    undo = Operation.objects.filter(undoes=operation).first()
    records = found(AuditFilter(operation=operation.pk, outcome=DONE))[:LONGEST]
    deeds = list(history_entries(records, WITH_IT))
    if undo is not None:
        by = {"number": undo.pk}
        records = found(AuditFilter(operation=undo.pk, outcome=DONE))[:LONGEST]
        deeds += history_entries(
            records,
            {
                Act.UNDO: gettext("planned to undo it, as operation %(number)s") % by,
                Act.START: gettext("undid it, by operation %(number)s") % by,
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
    return gettext(words) if isinstance(words, str) else words(one.details)


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
