"""Store rules tables, and set their mode: off, observe or active."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction

from broker.errors import NoSuchQueue
from broker.errors.rules import NoSuchRules, RulesChanged
from broker.models import Act, Queue, RuleTable
from broker.operations.rules.parser import read
from broker.operations.rules.table import Table
from broker.security import audit
from broker.sql import database_now

Mode = RuleTable.Mode


def rules_of(queue: str) -> RuleTable:
    """The rules of a queue.

    Raises:
        NoSuchRules: the queue has no rules.
    """
    found = RuleTable.objects.select_related("queue", "changed_by", "acts_for")
    table = found.filter(queue__name=queue).first()
    if table is None:
        raise NoSuchRules(queue)
    return table


def parsed(row: RuleTable) -> Table:
    """The parsed rules of a row; they had no faults when they were saved."""
    return read(row.text, queue=row.queue.name)


@transaction.atomic
def save(
    queue: str,
    text: str,
    user: Any,
    *,
    revision: int | None = None,
    now: datetime | None = None,
) -> RuleTable:
    """Store the table of a queue. If the old table was active, the new one is only
    observed, until a user activates it.

    Args:
        queue: name of the queue whose dead letters the rules process.
        text: the text of the table.
        user: the user who wrote it.
        revision: the revision that the user has edited; None: any revision.
        now: the current time; the database's clock when not given.

    Raises:
        InvalidRules: the text cannot be parsed.
        NoSuchQueue: there is no queue with this name.
        RulesChanged: a newer revision is stored already.
    """
    text = text.replace("\r\n", "\n").replace("\0", "")
    read(text, queue=queue)
    holder = Queue.objects.select_for_update().filter(name=queue).first()
    if holder is None:
        raise NoSuchQueue(queue)
    at = now or database_now()
    row = RuleTable.objects.filter(queue=holder).first()
    if revision is not None and revision != (row.revision if row else 0):
        raise RulesChanged(queue, row.revision if row else 0)
    if row is None:
        row = RuleTable(queue=holder, revision=0)
    if row.text != text:
        row.text, row.revision = text, row.revision + 1
        row.changed_by, row.changed_at = user, at
        if row.mode == Mode.ACTIVE:
            row.mode = Mode.OBSERVE
        begin_anew(row)
        row.save()
        note(Act.WRITE_RULES, row, user, revision=row.revision)
    return row


@transaction.atomic
def switch(
    queue: str, mode: str, user: Any, *, now: datetime | None = None
) -> RuleTable:
    """Set rules to off, observe or active. Active rules act with the authorities of
    this user.

    Raises:
        NoSuchRules: the queue has none.
    """
    row = rules_of(queue)
    RuleTable.objects.select_for_update().get(pk=row.pk)
    row.mode, row.acts_for = Mode(mode), user
    row.switched_at = now or database_now()
    begin_anew(row)
    row.save()
    note(Act.SWITCH_RULES, row, user, mode=mode)
    return row


def note(act: Act, row: RuleTable, user: Any, **detail: Any) -> None:
    audit.record(act, row.queue, by=user, detail=detail)


def begin_anew(row: RuleTable) -> None:
    """Let passes begin again at the first letter."""
    row.seen_id, row.round_began_at, row.trouble = 0, None, ""
