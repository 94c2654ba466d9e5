"""Defects that the state machines and schedules have to catch; see ``mutants``."""

from __future__ import annotations

from dataclasses import dataclass

from tests import defects_of_failures as failures
from tests.defects_of_asynchronous_code import ASYNCHRONOUS

MACHINE = "tests/broker/test_queue_machine.py"
IBM = "tests/broker/test_ibm_machine.py"
AHEAD = "tests/broker/settlement/test_batch_machine.py"
SCHEDULE = "tests/broker/test_interleavings{}.py"
SCHEDULES = " ".join(map(SCHEDULE.format, ("", "_ends", "_moves", "_poison")))


@dataclass(frozen=True)
class Mutant:
    """One defect: a text in a file, and what it is replaced by."""

    name: str
    file: str
    before: str
    after: str
    tests: str = MACHINE


MUTANTS = [
    Mutant(
        "an accept without its fence",
        "broker/sql/settlement/accept.sql",
        "SELECT 1 / ((SELECT count",
        "SELECT 1 / (true OR (SELECT count",
    ),
    Mutant(
        "a settlement of what another unit of work holds",
        "broker/sql/settlement/take_some.sql",
        "WHERE uow = %(uow)s::bigint AND queue_id",
        "WHERE queue_id",
    ),
    Mutant(
        "a get that goes on in a unit of work that ended",
        "broker/sql/queueing/get.sql",
        "ELSE EXISTS (SELECT FROM unit) END",
        "ELSE true END",
    ),
    Mutant(
        "newest first",
        "broker/sql/queueing/get.sql",
        "ORDER BY ready.pos\n",
        "ORDER BY ready.pos DESC\n",
    ),
    Mutant(
        "priorities upside down",
        "broker/queueing/get.py",
        "range(9, -1, -1) for _",
        "range(10) for _",
    ),
    Mutant(
        "what came back stands behind what is new",
        "broker/sql/queueing/put_back.sql",
        "SELECT queue_id, priority, id - 4611686018427387904, id,",
        "SELECT queue_id, priority, id + 1000000000, id,",
    ),
    Mutant(
        "a limit that is one too many",
        "broker/settlement/redelivery_policy.py",
        "if 0 < limit <= attempts:",
        "if 0 < limit < attempts:",
    ),
    Mutant(
        "a delivery that is not counted",
        "broker/queueing/transfer.py",
        "self.backout_count + 1,",
        "self.backout_count,",
    ),
    Mutant(
        "a release that is counted",
        "broker/settlement/backout.py",
        "            put_back(held, [delay_ms] * len(held), record)",
        "            held = [one.counted() for one in held]\n"
        "            put_back(held, [delay_ms] * len(held), record)",
    ),
    Mutant(
        "an expired message that is delivered",
        "broker/sql/queueing/get.sql",
        "AND (ready.expires_at IS NULL",
        "AND (true OR ready.expires_at IS NULL",
    ),
    Mutant(
        "an expired message that is redelivered",
        "broker/settlement/backout.py",
        "expired = [entry for entry in held if entry.expired]",
        "expired: list[Held] = []",
    ),
    Mutant(
        "a delay that ends early",
        "broker/sql/queueing/wake.sql",
        "WHERE due_at <= coalesce(",
        "WHERE due_at - interval '6 seconds' <= coalesce(",
    ),
    Mutant(
        "a deadline that passes early",
        "broker/sql/settlement/overdue.sql",
        "    deadline <= coalesce(",
        "    deadline - interval '160 seconds' <= coalesce(",
    ),
    Mutant(
        "a deadline that never passes",
        "broker/sql/settlement/overdue.sql",
        "    deadline <= coalesce(",
        "    deadline + interval '1 hour' <= coalesce(",
    ),
    Mutant(
        "a copy that leaves the original behind",
        "broker/sql/settlement/take_ready.sql",
        "DELETE FROM broker_ready\n    WHERE ctid = ANY (ARRAY(",
        "SELECT * FROM broker_ready\n    WHERE ctid = ANY (ARRAY(",
    ),
    Mutant(
        "a dead letter that keeps its expiry",
        "broker/sql/queueing/copy.sql",
        "priority, new_id, new_id, expires_at FROM entry",
        "priority, new_id, new_id, at + interval '1 s' FROM entry",
    ),
    Mutant(
        "dead letters that arrive in another order",
        "broker/sql/queueing/copy.sql",
        "ORDER BY source.ord\n        ) AS ordered",
        "ORDER BY source.ord DESC\n        ) AS ordered",
    ),
    Mutant(
        "a backout that the journal forgets",
        "broker/sql/queueing/put_back.sql",
        "FROM entry GROUP BY at, queue_id, due_at IS NULL",
        "FROM entry WHERE due_at IS NULL GROUP BY at, queue_id, due_at IS NULL",
    ),
    Mutant(
        "a paused queue that gives",
        "broker/sql/queueing/get.sql",
        "AND NOT paused\n",
        "\n",
    ),
    Mutant(
        "a part of a claim that is taken whole",
        "broker/sql/settlement/take_some.sql",
        "HAVING bool_and(goes))",
        "HAVING bool_or(goes))",
    ),
    Mutant(
        "a threshold that is one too many",
        "broker/settlement/poison.py",
        "return 0 < self.threshold <= backout_count",
        "return 0 < self.threshold < backout_count",
        IBM,
    ),
    Mutant(
        "a second mark",
        "broker/transactions/skipped.py",
        "    if work.marked:",
        "    if work.marked and work.id is None:",
        IBM,
    ),
    Mutant(
        "a mark that a backout by the system honours",
        "broker/transactions/unit_of_work.py",
        "if self.mark is None or by_system:",
        "if self.mark is None:",
        IBM,
    ),
    Mutant(
        "a skipped backout that resets the count",
        "broker/settlement/settle.py",
        "        backout_count=held.backout_count,",
        "        backout_count=0,",
        IBM,
    ),
    Mutant(
        "a skipped backout that is counted",
        "broker/settlement/settle.py",
        "        backout_count=held.backout_count,",
        "        backout_count=held.backout_count + 1,",
        IBM,
    ),
    Mutant(
        "a move that its receiver's backout does not undo",
        "broker/transactions/unit_of_work.py",
        "        self.removing.append(removing)",
        "        self.remove_now(removing, last=poison.Last.DISCARD)",
        IBM,
    ),
    Mutant(
        "an accept without its fence, of a killed process",
        "broker/sql/settlement/accept.sql",
        "SELECT 1 / ((SELECT count",
        "SELECT 1 / (true OR (SELECT count",
        IBM,
    ),
    Mutant(
        "an accept with the next get, without its fence",
        "broker/sql/settlement/accept.sql",
        "FROM settled WHERE (SELECT is_whole FROM held) = 1",
        "FROM settled",
        "tests/broker/client/test_dispatcher_commits.py",
    ),
    Mutant(
        "an expired message that a consumer gets",
        "broker/sql/queueing/get.sql",
        "AND (ready.expires_at IS NULL",
        "AND (true OR ready.expires_at IS NULL",
        IBM,
    ),
    Mutant(
        "a full queue that takes one more",
        "broker/queueing/limits.py",
        "if depth + len(sizes_bytes) > queue.max_depth:",
        "if depth + len(sizes_bytes) > queue.max_depth + 1:",
        IBM,
    ),
    Mutant(
        "a report option that nobody reads",
        "broker/settlement/redelivery_policy.py",
        "if report & Report.DISCARD_MSG:",
        "if not report & Report.DISCARD_MSG and False:",
        IBM,
    ),
    Mutant(
        "a report that is sent twice",
        "broker/client/dispatch/undeliverable.py",
        "            report_messages.send(delivery,",
        "            report_messages.send(delivery, reason, **about)\n"
        "            report_messages.send(delivery,",
        IBM,
    ),
    Mutant(
        "a report that stays when its message could not go",
        "broker/client/dispatch/undeliverable.py",
        "                raise refusal\n",
        "                report_messages.send(delivery, reason, **about)\n"
        "                return removal\n",
        IBM,
    ),
    Mutant(
        "a sweep that locks nothing",
        "broker/sql/settlement/overdue.sql",
        "\nFOR UPDATE SKIP LOCKED",
        "",
        SCHEDULES,
    ),
    Mutant(
        "an accept that does not count what left",
        "broker/sql/settlement/accept.sql",
        "coalesce(sum(cardinality(ids)), 0) = %(expected)s::integer",
        "0 * %(expected)s::integer = 0",
        SCHEDULES,
    ),
    Mutant(
        "gets that wait for each other",
        "broker/sql/queueing/get.sql",
        "FOR UPDATE SKIP LOCKED",
        "FOR UPDATE",
        SCHEDULES,
    ),
    Mutant(
        "a lost answer that is taken for a backout",
        "broker/transactions/unit_of_work.py",
        "in_doubt=bool(line.closed)",
        "in_doubt=False",
        SCHEDULES,
    ),
    Mutant(
        "a tally that folds what is not final",
        "broker/sql/queueing/fold.sql",
        "(SELECT min(xid) FROM young WHERE NOT is_skipped)",
        "NULL::bigint",
        "tests/broker/queueing/test_journal.py",
    ),
    Mutant(
        "room that two see at once",
        "broker/queueing/limits.py",
        ".select_for_update(no_key=True)",
        "",
        SCHEDULES,
    ),
    Mutant(
        "a settlement of what another consumer holds",
        "broker/sql/settlement/settle_many.sql",
        "WHERE claim.uow = asked.uow AND claim.queue_id",
        "WHERE claim.queue_id",
        AHEAD,
    ),
    Mutant(
        "a part of what is asked for that is settled",
        "broker/sql/settlement/settle_many.sql",
        "SELECT count(*) = (SELECT cardinality(ids) FROM request)",
        "SELECT count(*) > 0",
        AHEAD,
    ),
    Mutant(
        "a claim that goes with what it still holds",
        "broker/sql/settlement/settle_many.sql",
        "      AND split.ids IS NULL AND (",
        "      AND (",
        AHEAD,
    ),
    Mutant(
        "a part of a group that is refused with the rest",
        "broker/settlement/batch.py",
        "elif len(group.members) > 1:",
        "elif len(group.members) > 9:",
        AHEAD,
    ),
    Mutant(
        "a lost client of whom more counts than the oldest",
        "broker/settlement/settle.py",
        "and entry.id == oldest",
        "and entry.id >= (oldest or 0)",
        AHEAD,
    ),
    Mutant(
        "a dead process of which all counts",
        "broker/settlement/settle.py",
        "                end_lost(uow, DIED, at_once=uow in ordered, now=now)",
        "                end_if_held(uow, BackOut(DIED), now=now)",
        AHEAD,
    ),
    Mutant(
        "a consumer's own delay that is overlooked",
        "broker/settlement/backout.py",
        "        return replace(disposition, after=delay)",
        "        return disposition",
        AHEAD,
    ),
    Mutant(
        "a hidden entry that is taken",
        "broker/transactions/prefetch.py",
        "lanes_around(self.consumer.queue.name, hidden) if hidden else None",
        "None",
        AHEAD,
    ),
    Mutant(
        "an end of a consumer that nobody tells it",
        "broker/transactions/prefetch.py",
        "if row == (False,):",
        "if row == (None,):",
        AHEAD,
    ),
    *(Mutant(*one) for one in failures.ALL),
    *(Mutant(*one) for one in ASYNCHRONOUS),
]
