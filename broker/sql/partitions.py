"""Partitions of messages and journal: created ahead of time, dropped when no longer
needed.

Messages are partitioned by id, the journal by day. Rows without a partition go to the
default partition, which is normally empty. Creating a partition moves its rows there.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import wraps
from typing import Any

from django.conf import settings
from django.db import IntegrityError, OperationalError, connection, transaction
from psycopg import sql
from psycopg.sql import Identifier, Literal

logger = logging.getLogger(__name__)

MESSAGES = 2**20  # message ids of one partition
MESSAGES_AHEAD, DAYS_AHEAD = 4, 7
TRIES = 4  # most partitions that one call reads because of the size limit
FEW = 0.02  # largest share of needed rows with which a partition is rewritten
# Largest share of needed rows with which a partition is rewritten, if messages of some
# addresses are kept longer (``kept_since``).
HALF = 0.5
# With ``kept_since``, a partition past retention is read only by every 60th call.
TURNS = 60

# A function of an address and the present time: it returns the time since which
# messages to the address are kept. None: the default retention applies.
KeptSince = Callable[[str, datetime], datetime | None]


def make_ahead(*, today: date | None = None) -> None:
    """Create the missing partitions of the near future."""
    current = last_message_id() // MESSAGES
    for n in range(current, current + MESSAGES_AHEAD):
        make("broker_message", f"p{n}", "id", n * MESSAGES, (n + 1) * MESSAGES)
    today = today or datetime.now(UTC).date()
    for day in (today + timedelta(n) for n in range(-1, DAYS_AHEAD)):
        name, after = f"p{day:%Y%m%d}", day + timedelta(1)
        make("broker_event", name, "at", midnight(day), midnight(after))


def make(parent: str, name: str, column: str, low: object, high: object) -> None:
    """Create one partition, with the rows of its range in the default partition.

    The partition is filled before it is attached, so the lock on the parent is weak. If
    a row is added to the default meanwhile, the call fails, and the next call tries
    again.
    """
    names = {
        "parent": Identifier(parent),
        "default": Identifier(f"{parent}_default"),
        "child": Identifier(f"{parent}_{name}"),
        "column": Identifier(column),
        "low": Literal(low),
        "high": Literal(high),
    }
    if f"{parent}_{name}" in children(parent):
        return
    try:
        with transaction.atomic():
            run("SET LOCAL lock_timeout = '2s'", names)
            run("CREATE TABLE {child} (LIKE {parent} INCLUDING ALL)", names)
            run(
                "WITH moved AS (DELETE FROM {default} WHERE {column} >= {low}"
                " AND {column} < {high} RETURNING *)"
                " INSERT INTO {child} SELECT * FROM moved",
                names,
            )
            run(
                "ALTER TABLE {parent} ATTACH PARTITION {child}"
                " FOR VALUES FROM ({low}) TO ({high})",
                names,
            )
    except (IntegrityError, OperationalError) as error:
        logger.warning("Partition %s_%s is not made yet: %s", parent, name, error)


def drop_old(
    *, now: datetime | None = None, kept_since: KeptSince | None = None
) -> None:
    """Drop partitions past retention, unless they have rows that are on a queue or
    unread. The messages also have a size limit, above which the oldest go first.

    Args:
        now: the present time.
        kept_since: which messages are kept longer; then a call, which comes once a
            minute, reads one of ``TURNS`` of the partitions past retention.
    """
    now = now or datetime.now(UTC)
    messages_since = now - timedelta(days=settings.BROKER_MESSAGE_RETENTION_DAYS)
    most = settings.BROKER_MESSAGE_RETENTION_BYTES or math.inf
    size = sum(size_bytes(child) for child in children("broker_message"))
    tries = TRIES
    turn = int(now.timestamp()) // 60
    for n, child in numbered("broker_message"):
        if kept_since is not None and (turn - n) % TURNS:
            continue
        is_over = size > most and tries > 0
        if is_over or not has(child, since=messages_since):
            size -= size_bytes(child)
            drop_messages(
                child, n * MESSAGES, retention_condition(child, now, kept_since)
            )
            size += size_bytes(child)
            tries -= is_over
    events_since = now - timedelta(days=settings.BROKER_JOURNAL_RETENTION_DAYS)
    for day, child in numbered("broker_event"):
        if day < int(f"{events_since:%Y%m%d}"):
            drop_events(child)


def tried_again_later(drop: Callable[..., None]) -> Callable[..., None]:
    """Decorator: a drop that cannot get its lock is left to the next call."""

    @wraps(drop)
    def patient(child: str, *rest: Any) -> None:
        try:
            drop(child, *rest)
        except OperationalError as error:
            logger.warning("%s is not dropped yet: %s", child, error)

    return patient


@tried_again_later
def drop_messages(child: str, low: int, kept: sql.Composable | None = None) -> None:
    """Drop a partition of messages; or rewrite it with the few messages that are still
    needed: on a queue, in the discard bin, for an undo, or by a longer retention."""
    names = {
        "kept": kept or sql.SQL("false"),
        "child": Identifier(child),
        "new": Identifier(f"{child}_new"),
        "low": Literal(low),
        "high": Literal(low + MESSAGES),
        "undo": Literal(timedelta(seconds=settings.BROKER_UNDO_WINDOW_S)),
    }
    if low + MESSAGES > last_message_id():
        return
    survivors, size = needed(names)
    if survivors > size * (FEW if kept is None else HALF):
        return
    with transaction.atomic():
        run("SET LOCAL lock_timeout = '200ms'", names)
        if survivors:
            run("CREATE TABLE {new} (LIKE {child} INCLUDING ALL)", names)
            run(f"INSERT INTO {{new}} SELECT * FROM {{child}} WHERE {NEEDED}", names)  # noqa: S608
        run("DROP TABLE {child}", names)
        if survivors:
            run("ALTER TABLE {new} RENAME TO {child}", names)
            run(
                "ALTER TABLE broker_message ATTACH PARTITION {child}"
                " FOR VALUES FROM ({low}) TO ({high})",
                names,
            )
        else:
            run(
                "DELETE FROM broker_dead_letter"
                " WHERE message_id >= {low} AND message_id < {high}",
                names,
            )
        for about in ("broker_annotations", "broker_returned"):
            run(
                "DELETE FROM {about} AS said"
                " WHERE message_id >= {low} AND message_id < {high} AND NOT EXISTS"
                " (SELECT FROM broker_message WHERE id = said.message_id)",
                names | {"about": Identifier(about)},
            )


def retention_condition(
    child: str, now: datetime, kept_since: KeptSince | None
) -> sql.Composable | None:
    """The condition for rows of a partition that are kept longer; None: no row is."""
    if kept_since is None:
        return None
    names: dict[str, sql.Composable] = {"child": Identifier(child)}
    addresses = [one for (one,) in run("SELECT DISTINCT address FROM {child}", names)]
    kept = [(one, at) for one in addresses if (at := kept_since(one, now)) is not None]
    if not kept:
        return None
    return sql.SQL(
        "EXISTS (SELECT FROM (VALUES {}) AS kept (name, since)"
        " WHERE kept.name = address AND put_at >= kept.since)"
    ).format(
        sql.SQL(", ").join(
            sql.SQL("({}, {})").format(Literal(name), Literal(since))
            for name, since in kept
        )
    )


NEEDED = """({kept} OR id IN (
    SELECT id FROM broker_ready WHERE id >= {low} AND id < {high}
    UNION ALL SELECT id FROM broker_delayed WHERE id >= {low} AND id < {high}
    UNION ALL SELECT message_id FROM broker_discarded
        WHERE message_id >= {low} AND message_id < {high}
    UNION ALL SELECT unnest(ids) FROM broker_claim
    UNION ALL SELECT item.message_id FROM broker_operationitem AS item
        JOIN broker_operation AS done ON done.id = item.operation_id
        WHERE done.ended_at > now() - {undo} AND item.status = 'done'
          AND item.message_id >= {low} AND item.message_id < {high}))"""


def needed(names: dict[str, sql.Composable]) -> tuple[int, int]:
    """How many messages of a partition are needed, and how many it has."""
    ((survivors, size),) = run(
        f"SELECT count(*) FILTER (WHERE {NEEDED}), count(*) FROM {{child}}",  # noqa: S608
        names,
    )
    return survivors, size


@tried_again_later
def drop_events(child: str) -> None:
    """Drop a day of the journal, if all readers have read it completely."""
    names: dict[str, sql.Composable] = {"child": Identifier(child)}
    ((unread,),) = run(
        "SELECT EXISTS (SELECT FROM {child} WHERE xid >="
        " (SELECT min(xid) FROM broker_watermark) OR xid = ANY (ARRAY("
        "SELECT unnest(skipped) FROM broker_watermark)))",
        names,
    )
    if unread:
        logger.warning("%s is past retention, but has not been read yet.", child)
        return
    with transaction.atomic():
        run("SET LOCAL lock_timeout = '200ms'", names)
        run("DROP TABLE {child}", names)


def has(child: str, *, since: datetime) -> bool:
    ((found,),) = run(
        "SELECT EXISTS (SELECT FROM {child} WHERE put_at >= {since})",
        {"child": Identifier(child), "since": Literal(since)},
    )
    return bool(found)


def children(parent: str) -> set[str]:
    rows = run(
        "SELECT inhrelid::regclass::text FROM pg_inherits"
        " WHERE inhparent = {parent}::regclass",
        {"parent": Literal(parent)},
    )
    return {name for (name,) in rows}


def numbered(parent: str) -> list[tuple[int, str]]:
    """The partitions but the default one, by number: the oldest first."""
    names = {child.removeprefix(f"{parent}_p"): child for child in children(parent)}
    return sorted((int(n), child) for n, child in names.items() if n.isdigit())


def size_bytes(child: str) -> int:
    """The size of a partition on the disk, with its indexes; 0 if it is gone."""
    ((size,),) = run(
        "SELECT coalesce(pg_total_relation_size(to_regclass({child})), 0)",
        {"child": Literal(child)},
    )
    return int(size)


def last_message_id() -> int:
    ((last,),) = run("SELECT last_value FROM broker_message_id_seq", {})
    return int(last)


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def run(text: str, names: dict[str, sql.Composable]) -> list[tuple[Any, ...]]:
    """Run a statement with names of tables, which cannot be parameters."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL(text).format(**names).as_string(cursor.connection))
        return cursor.fetchall() if cursor.description else []
