"""Seeded defects of the statements that end a failed unit of work, in which one
comparison is missing; and of commits in groups."""

from __future__ import annotations

OF_FAILURES = " ".join(
    f"tests/broker/settlement/test_{name}.py"
    for name in ("failed_unit", "backout_at_once", "failed_and_next", "copy_one")
)
BACK, COPY, ONE, AGAIN = (
    f"broker/sql/queueing/{name}.sql"
    for name in ("put_back", "copy", "copy_one", "redeliver")
)
POLICY = "AND (SELECT text FROM policy) IS NOT DISTINCT FROM %(policy)s::text"
NO_POLICY = "AND (%(policy)s::text IS NOT NULL OR true)"
ROUTE = "(SELECT text FROM route WHERE idle = 0) IS NOT DISTINCT FROM %(route)s::text"
EXPIRED = "<= coalesce(%(now)s::timestamptz, statement_timestamp())) = 0"
WHOLE = "count(*) = cardinality(%(ids)b::bigint[]) AND count(*) = count(back.id)"

# Name, file, text, and what it is replaced by.
OF_EACH = [
    ("a redelivery by settings that have changed", BACK, POLICY, NO_POLICY),
    ("a dead letter by settings that have changed", COPY, POLICY, NO_POLICY),
    (
        "a dead letter by a route that has changed",
        COPY,
        ROUTE,
        "(%(route)s::text IS NOT NULL OR true)",
    ),
    (
        "a dead letter on a queue that is counted as idle",
        COPY,
        "route WHERE idle = 0",
        "route",
    ),
    (
        "a redelivery of what has expired meanwhile",
        BACK,
        EXPIRED,
        EXPIRED.replace("= 0", ">= 0"),
    ),
    (
        "a dead letter of what has expired meanwhile",
        COPY,
        EXPIRED,
        EXPIRED.replace("= 0", ">= 0"),
    ),
    (
        "a redelivery of what was settled meanwhile",
        BACK,
        WHOLE,
        "count(*) = count(back.id)",
    ),
    (
        "a dead letter of what was settled meanwhile",
        COPY,
        WHOLE,
        "count(*) = count(back.id)",
    ),
    ("a single dead letter by settings that have changed", ONE, POLICY, NO_POLICY),
    (
        "a single dead letter by a route that has changed",
        ONE,
        ROUTE,
        "(%(route)s::text IS NOT NULL OR true)",
    ),
    (
        "a single dead letter on a queue that is counted as idle",
        ONE,
        "route WHERE idle = 0",
        "route",
    ),
    (
        "a single dead letter of what has expired meanwhile",
        ONE,
        "AND coalesce(expiries[1]",
        "AND true OR coalesce(expiries[1]",
    ),
    (
        "a single dead letter of what was settled meanwhile",
        ONE,
        "1 / (count(*) = 1 AND bool_and(is_this)",
        "1 / (count(*) = count(is_this)",
    ),
    (
        "a single dead letter that loses its annotations",
        ONE,
        "AND said.queue_id = %(queue_id)s::integer",
        "AND said.queue_id = -%(queue_id)s::integer",
    ),
    (
        "a message that comes again by settings that have changed",
        AGAIN,
        "(SELECT text FROM policy) = %(policy)s::text",
        "%(policy)s::text IS NOT NULL",
    ),
    (
        "a message that comes again before another one",
        AGAIN,
        "WHERE ready.queue_id = %(queue_id)s::integer",
        "WHERE ready.queue_id = -%(queue_id)s::integer",
    ),
    (
        "a message that comes again and has expired",
        AGAIN,
        "AND (expiries[1] IS NULL OR expiries[1] > at)",
        "",
    ),
    (
        "a message that comes again from a queue that is paused",
        AGAIN,
        "= %(queue)s::text AND NOT paused",
        "= %(queue)s::text",
    ),
    (
        "a message that comes again after its unit of work has ended",
        AGAIN,
        "AS held (is_whole) LEFT JOIN",
        "AS held (is_whole) JOIN",
    ),
]

FAILURES = [(*one, OF_FAILURES) for one in OF_EACH]

ASYNC = "broker/client/dispatch/async_session.py"
OF_TASKS = "tests/broker/client/test_async_handlers.py"
TASKS = [
    (
        "an event loop that is given more messages than it has tasks",
        ASYNC,
        "self.group.get(free)",
        "self.group.get(free + 1)",
        OF_TASKS,
    ),
    (
        "a stop that does not wait for tasks",
        "broker/client/dispatch/dispatcher.py",
        "pool.drain()",
        "pool.threads()",
        OF_TASKS,
    ),
    (
        "a task that ends and wakes nobody",
        ASYNC,
        "if not self.has_looked:",
        "if self.is_away:",
        OF_TASKS,
    ),
    (
        "a task that fails, and whose message is accepted",
        ASYNC,
        "partial(back_out_unless_lost, work, error)",
        "work.commit",
        OF_TASKS,
    ),
]

OF_GROUPS = "tests/broker/transactions/test_group_commit.py"
GROUP = "broker/transactions/group_commit.py"
STRAYS = "broker/transactions/stray_claims.py"
GROUPS = [
    (
        "a group of commits that forgets one of its units of work",
        GROUP,
        "uows = {one.uow: one.returned for one in group if",
        "uows = {one.uow: one.returned for one in group[:1] if",
        OF_GROUPS,
    ),
    (
        "a value that a task of another unit of work returned",
        "broker/sql/settlement/accept_returning.sql",
        "USING (uow)",
        "ON true",
        OF_GROUPS,
    ),
    (
        "a unit of work that is accepted with less than it held, and its value kept",
        "broker/sql/settlement/accept_returning.sql",
        "SELECT 1 / ((SELECT",
        "SELECT 1 / (true OR (SELECT",
        OF_GROUPS,
    ),
    (
        "a lost answer of a group that is taken for a refusal",
        GROUP,
        "if session.is_gone() else ALONE",
        "if False else ALONE",
        OF_GROUPS,
    ),
    (
        "a lost answer of a group whose messages wait for their deadline",
        STRAYS,
        "self.lost[by] = time",
        "_ = time",
        OF_GROUPS,
    ),
]

OF_POISON = "tests/broker/settlement/test_poison_alone.py"
POISON = [
    (
        "a poison message that is moved to a queue that may be full",
        "broker/settlement/poison.py",
        "if target.is_guarded:",
        "if False:",
        OF_POISON,
    ),
    (
        "a poison message that is moved by what was read of the queue before",
        "broker/settlement/poison.py",
        "if not sql.is_refusal(error):",
        "if True:",
        OF_POISON,
    ),
    (
        "a poison message whose unit of work goes on after its end",
        "broker/transactions/unit_of_work.py",
        "self.id, self.claims = None, 0",
        "self.claims = 0",
        OF_POISON,
    ),
]

OF_LOOKOUT = "tests/broker/client/test_lookout.py"
LOOKOUT = [
    (
        "a failure that the lookout of a handler does not hear of",
        "broker/client/dispatch/server_session.py",
        "notifications.wake(self.consumer.queue.pk)  # it may",
        "pass  # it may",
        OF_LOOKOUT,
    ),
    (
        "a lookout that gets a message for itself alone",
        "broker/client/dispatch/server_session.py",
        "limit = self.lookout.idle() if self.is_on_lookout else 1",
        "limit = 1",
        OF_LOOKOUT,
    ),
]

OF_JOURNAL = "tests/broker/queueing/test_old_transactions.py"
FOLD = "broker/sql/queueing/fold.sql"
JOURNAL = [
    (
        "a tally that forgets whom it has skipped",
        FOLD,
        "UNION ALL SELECT xid FROM young WHERE is_skipped AND xid < part.high",
        "",
        OF_JOURNAL,
    ),
    (
        "a transaction that is skipped for ever",
        FOLD,
        "xid <> ALL (open) AS has_ended",
        "false AS has_ended",
        OF_JOURNAL,
    ),
    (
        "a fold that skips nobody",
        FOLD,
        "SELECT xid, xid < seen AND row_number",
        "SELECT xid, false AND row_number",
        OF_JOURNAL,
    ),
    (
        "a depth without what was written late",
        "broker/sql/queueing/depths.sql",
        "OR xid = ANY",
        "OR xid <> ALL",
        OF_JOURNAL,
    ),
    (
        "a day of the journal that is dropped before the tally has it",
        "broker/sql/partitions.py",
        "SELECT unnest(skipped) FROM",
        "SELECT -1 FROM",
        OF_JOURNAL,
    ),
]

OF_TABLES = "tests/broker/test_compaction.py"
COMPACTION = "broker/housekeeping/compaction.py"
TABLES = [
    (
        "a table that is written anew without what comes meanwhile",
        COMPACTION,
        "IN ACCESS EXCLUSIVE MODE",
        "IN ACCESS SHARE MODE",
        OF_TABLES,
    ),
    (
        "a table that is written anew and loses rows",
        COMPACTION,
        "if cursor.rowcount != count:",
        "if cursor.rowcount > count:",
        OF_TABLES,
    ),
    (
        "a check to which a table that is written anew looks empty",
        "broker/management/commands/broker_fsck.py",
        "cursor.execute(f\"LOCK TABLE {', '.join(HOT)} IN ACCESS SHARE MODE\")",
        "cursor.execute('SELECT 1')",
        OF_TABLES,
    ),
    (
        "a table that everybody waits for behind an old transaction",
        "broker/sql/maintenance/compactable.sql",
        "statement_timestamp() - interval",
        "statement_timestamp() - 9000 * interval",
        OF_TABLES,
    ),
]

ALL = FAILURES + GROUPS + JOURNAL + LOOKOUT + POISON + TABLES + TASKS
