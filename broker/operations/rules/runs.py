"""A pass over the dead letters of a queue: apply its rules, or record what they match.

A pass is one transaction over a bounded number of letters. It acts by operations, like
those of users, with the same ledger. Attempts, operations and the position of the pass
are committed together, so a pass may be killed, run twice, or run late. A consumer or
another operation may take the same letters first; then the pass does not find them.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from broker import operations
from broker.errors import NoSuchQueue, NotResubmittable
from broker.errors.operations import NothingChosen
from broker.formats.quantities import write_count
from broker.models import (
    Operation,
    OperationItem,
    Queue,
    RuleAttempt,
    RulePass,
    RuleTable,
)
from broker.operations import Chosen, Order, Outcome
from broker.operations.rules import attempts
from broker.operations.rules.dead_letter_facts import found_by, letters_on
from broker.operations.rules.first_match import Tried, decide, interval
from broker.operations.rules.matching import Letter
from broker.operations.rules.table import Action, Rule, Table
from broker.operations.rules.tables import Mode, parsed
from broker.operations.rules.targets import Target, target_of
from broker.queueing import limits
from broker.security import authorities
from broker.sql import database_now
from broker.sql.fencing import short_transaction

logger = logging.getLogger(__name__)

BATCH = 500  # most letters of one pass
SAMPLE = 10  # most letters that the record of a pass names
KINDS = {
    Action.DISCARD: Operation.Kind.REMOVE,
    Action.FWD: Operation.Kind.MOVE,
    Action.RETRY: Operation.Kind.RESUBMIT,
}
# Action in the record of a pass for messages without a recorded cause of death: no rule
# can match such a message.
LEAVE = "LEAVE"
NO_STORY = "there is no MQDLH, and the broker did not dead-letter them"
LEFT = "Rules leave %s on %s: %s. The first: %s."
FAILED = {
    one.sentence
    for one in (
        Outcome.REFUSED,
        Outcome.NO_WAY_BACK,
        Outcome.INHIBITED,
        Outcome.FULL,
    )
}
Status = OperationItem.Status


@dataclass(slots=True)
class RuleResult:
    """The result of one rule in a pass, for letters with one target; in mode
    ``observe``, the expected result."""

    rule: int  # number of the rule, from 1
    line: int
    action: str
    to: str
    letters: int
    done: int = 0
    failed: int = 0
    why: str = ""  # reason for the letters on which the rule failed to act
    operation: int | None = None
    sample: list[int] = field(default_factory=list)


def due() -> list[int]:
    """The tables whose mode is not off."""
    on = RuleTable.objects.exclude(mode=Mode.OFF)
    return list(on.order_by("pk").values_list("pk", flat=True))


@short_transaction()
def run(table_id: int, *, limit: int = BATCH, now: datetime | None = None) -> int:
    """Apply the rules of a table to the next letters of its queue; return how many.

    Fewer than ``limit`` at the end of the queue. The next pass reads new letters. If
    the rules are active, a new round reads all letters again after the interval of the
    table. Zero if the rules are off or cannot act, or while another process runs them.
    """
    rows = RuleTable.objects.select_for_update(skip_locked=True, of=("self",))
    row = rows.select_related("queue", "acts_for").filter(pk=table_id).first()
    if row is None or row.mode == Mode.OFF:
        return 0
    at = now or database_now()
    trouble = trouble_of(row)
    if trouble:
        RuleTable.objects.filter(pk=row.pk).update(trouble=trouble)
        return 0
    table = parsed(row)
    begin_round(row, table, at)
    page = letters_on(row.queue_id, after=row.seen_id, limit=limit)
    deeds = [
        *left(row, page.unexplained, at),
        *apply_rules(row, table, page.letters, at),
    ]
    row.seen_id = max(row.seen_id, page.last_id)
    row.trouble = ""
    row.save(update_fields=["seen_id", "round_began_at", "trouble"])
    if deeds:
        RulePass.objects.create(
            table=row,
            mode=row.mode,
            revision=row.revision,
            began_at=at,
            looked_at=len(page),
            deeds=[asdict(deed) for deed in deeds],
        )
    return len(page)


def left(row: RuleTable, unexplained: Sequence[int], at: datetime) -> list[RuleResult]:
    """Report messages without a recorded cause of death, once each; rules leave them on
    the queue."""
    known = RuleAttempt.objects.filter(
        queue_id=row.queue_id, message_id__in=unexplained
    ).values_list("message_id", flat=True)
    fresh = sorted(set(unexplained).difference(known)) if unexplained else []
    if not fresh:
        return []
    count = write_count(len(fresh), "message")
    logger.warning(LEFT, count, row.queue.name, NO_STORY, fresh[:SAMPLE])
    attempts.note(row.queue_id, dict.fromkeys(fresh), "", {}, at)
    return [
        RuleResult(0, 0, LEAVE, "", len(fresh), why=NO_STORY, sample=fresh[:SAMPLE])
    ]


def trouble_of(row: RuleTable) -> str:
    """The reason why active rules cannot act; empty if they can."""
    if row.mode != Mode.ACTIVE:
        return ""
    if row.acts_for is None:
        return "Nobody switched them on: whose authority they have is not known."
    if not authorities.may(row.acts_for, "get", row.queue.name):
        return str(authorities.refusal(row.acts_for, "get", row.queue.name))
    return ""


def begin_round(row: RuleTable, table: Table, at: datetime) -> None:
    """Begin at the first letter again if the interval is over."""
    if row.round_began_at is None:
        row.round_began_at = at
    elif row.mode == Mode.ACTIVE and at >= row.round_began_at + interval(table):
        row.round_began_at, row.seen_id = at, 0


def apply_rules(
    row: RuleTable, table: Table, letters: Sequence[Letter], at: datetime
) -> list[RuleResult]:
    """Apply rules to letters, or only record what they match."""
    tried = attempts.tried_on(letters, row.queue_id)
    found = found_by(table.rules, letters, {row.queue_id: row.queue.name}, at)
    chosen: dict[tuple[int, Target], list[Letter]] = defaultdict(list)
    for letter in letters:
        message_id = letter.message_id
        decision = decide(table, letter, tried.get(message_id), at, found[message_id])
        if decision.rule is not None:
            rule = table.rules[decision.rule]
            chosen[decision.rule, target_of(rule, letter)].append(letter)
    return [
        apply_rule(row, number, table.rules[number], target, some, tried, at)
        for (number, target), some in sorted(
            chosen.items(),
            key=lambda one: (one[0][0], one[0][1].queue, one[0][1].is_bare_move),
        )
    ]


def apply_rule(  # noqa: PLR0913  # each is a value of its own
    row: RuleTable,
    number: int,
    rule: Rule,
    target: Target,
    letters: Sequence[Letter],
    tried: Mapping[int, Tried],
    at: datetime,
) -> RuleResult:
    """Apply one rule to letters with one target; in mode ``observe``, only record the
    letters."""
    ids = [letter.message_id for letter in letters]
    deed = RuleResult(number + 1, rule.line, rule.action.value, target.queue, len(ids))
    deed.sample = ids[:SAMPLE]
    if row.mode != Mode.ACTIVE:
        return deed
    deed.why = target.why or obstacle_of(row, target)
    goes = [] if deed.why else fitting(target, letters, deed)
    became: dict[int, int | None] = dict.fromkeys(set(ids).difference(goes))
    deed.failed = len(became)
    if goes:
        became |= done(row, number, rule, target, goes, deed)
    attempts.note(row.queue_id, became, rule.key, tried, at)
    return deed


def fitting(target: Target, letters: Sequence[Letter], deed: RuleResult) -> list[int]:
    """The letters that the target queue accepts now; the queue is locked if it has
    limits."""
    ids: list[int] = []
    sizes: list[int] = []
    queue = Queue.objects.filter(name=target.queue)
    limited = limits.lock(queue)
    for letter in letters:
        sizes.append(letter.size_bytes)
        errors = [limits.refusal(one, sizes) for one in limited]
        if any(errors):
            deed.why = str(errors[0])
            sizes.pop()
        else:
            ids.append(letter.message_id)
    return ids


def done(
    row: RuleTable,
    number: int,
    rule: Rule,
    target: Target,
    ids: Sequence[int],
    deed: RuleResult,
) -> dict[int, int | None]:
    """Run an operation on letters; return the letters that were tried, with their
    copies.

    Letters that had left the queue do not count as tried.
    """
    kind = Operation.Kind.MOVE if target.is_bare_move else KINDS[rule.action]
    order = Order(kind, target.queue if kind == Operation.Kind.MOVE else "")
    scope = f"rule {number + 1} of {row.queue.name}: {len(ids)} dead letters"
    chosen = Chosen(queue=row.queue.name, ids=tuple(ids))
    try:
        with transaction.atomic():
            plan = operations.plan(row.acts_for, order, chosen, scope=scope)
    except (NothingChosen, NotResubmittable):
        return {}
    Operation.objects.filter(pk=plan.pk).update(
        drops_header=target.is_bare_move or not rule.keeps_header,
        reason=f"rule in line {rule.line}",
    )
    operations.start(plan.pk, limit=len(ids) + 1)
    deed.operation = plan.pk
    return outcome_of(plan.pk, ids, deed)


def outcome_of(
    operation_id: int, ids: Iterable[int], deed: RuleResult
) -> dict[int, int | None]:
    """The copies of the letters that were tried, by the ledger."""
    became: dict[int, int | None] = {}
    items = OperationItem.objects.filter(operation=operation_id)
    for message_id, status, note, copy_id in items.values_list(
        "message_id", "status", "note", "copy_id"
    ):
        if status == Status.SKIPPED and note not in FAILED:
            continue
        became[message_id] = copy_id
        deed.done += status == Status.DONE
        if status == Status.SKIPPED:
            deed.failed += 1
            deed.why = note
    return became


def obstacle_of(row: RuleTable, target: Target) -> str:
    """The reason why letters cannot be sent to a target; empty if they can."""
    if not target.queue:
        return ""
    if target.queue == row.queue.name:
        return "they lie there already"
    if not Queue.objects.filter(name=target.queue).exists():
        return str(NoSuchQueue(target.queue))
    user: Any = row.acts_for
    if target.as_user is not None:
        users = get_user_model()
        named = {users.USERNAME_FIELD: target.as_user}
        user = users._default_manager.filter(**named).first()
    if user is None:
        return f"there is no user {target.as_user!r}, for PUTAUT(CTX)"
    may = authorities.may(user, "put", target.queue)
    return "" if may else str(authorities.refusal(user, "put", target.queue))
