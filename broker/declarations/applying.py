"""Apply declarations: all changes or none, each with its audit record."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import ProtectedError, RestrictedError
from psycopg.errors import LockNotAvailable, UniqueViolation

from broker import sql
from broker.declarations.advising import advise
from broker.declarations.object_kind import ObjectKind
from broker.declarations.planning import (
    ChangePlan,
    Declaration,
    ObjectChange,
    depth,
    plan,
    version,
)
from broker.errors.queues import QueueNotEmpty
from broker.errors.settings import ChangedSinceRead, ObjectInUse, SettingsChanged
from broker.models import Act, Kind, Place, Queue
from broker.queueing.transfer import Record, TakenEntry
from broker.security import audit
from broker.settlement.discards import discard

logger = logging.getLogger(__name__)

# Key of the advisory lock that is held while declarations are applied.
ONE_AT_A_TIME = 0x4250
AT_ONCE = 1000  # messages that a purge takes with one statement
ATTEMPTS = 5  # attempts to get the lock that keeps out puts
# Less than PostgreSQL's deadlock_timeout: in a deadlock with puts, the deletion fails,
# and is tried again.
PATIENCE = "SET LOCAL lock_timeout = '800ms'"
LOCK_OUT = "LOCK TABLE broker_ready, broker_delayed IN SHARE ROW EXCLUSIVE MODE"
BUSY = (
    "Transactions that put or get messages are open and do not end. Try again, or stop"
    " their programs first."
)
PURGED = "Its queue was deleted."
ACTS = {"create": Act.CREATE, "alter": Act.CHANGE, "delete": Act.DELETE}


def apply(
    wanted: ChangePlan, *, expected: str | None = None, actor: str = ""
) -> ChangePlan:
    """Carry out a plan in one transaction. A plan without changes does nothing.

    Args:
        wanted: the plan; it is made again, and has to be the same.
        expected: the version of the first declared object that the user has seen;
            empty: it must not exist; None: any.
        actor: name that the journal records for messages that are discarded.

    Raises:
        SettingsChanged: what is stored has changed since the plan was made.
        ChangedSinceRead: the first object has another version.
        QueueNotEmpty: a queue to delete holds messages, and is not to be purged, or
            consumers hold some.
        ObjectInUse: an object cannot be created or deleted because of another.
    """
    try:
        with one_at_a_time():
            lock(wanted)
            if expected is not None:
                require_version(wanted.declarations[0], expected)
            now = plan(wanted.declarations)
            if now.token != wanted.token:
                raise SettingsChanged("definitions")
            for change in now.changes:
                carry_out(change, actor)
            return now
    except IntegrityError as error:
        # Another transaction has just created the object.
        if isinstance(error.__cause__, UniqueViolation):
            raise SettingsChanged("definitions") from None
        raise


def declare(declarations: Iterable[Declaration]) -> ChangePlan:
    """Plan and apply at once; the log gets the warnings."""
    with one_at_a_time():
        wanted = plan(declarations)
        for one in advise(wanted):
            logger.warning("%s", one)
        return apply(wanted)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """A transaction. Of several that plan and apply, each waits for the one before, so
    that what was planned is still so."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s::int, 0)", [ONE_AT_A_TIME])
        yield


def lock(wanted: ChangePlan) -> None:
    """Keep others from changing what the plan changes, until the transaction ends."""
    for change in wanted.changes:
        if change.verb != "delete":
            change.kind.lock(change.key, will_go=False)
    going = [one for one in wanted.changes if one.verb == "delete"]
    queues = [one.key[0] for one in going if one.kind.model is Queue]
    if queues:
        lock_out_puts(queues)
    for change in going:
        change.kind.lock(change.key, will_go=True)


def lock_out_puts(queues: Sequence[str]) -> None:
    """Wait for open transactions that have put or got messages, and let no others
    begin until this transaction ends.

    A put does not lock the queues that it finds. Without this, an entry could come to a
    queue that is just deleted, and be lost there.

    Raises:
        ObjectInUse: transactions are open too long.
    """
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(PATIENCE)
                cursor.execute(LOCK_OUT)
                rows = Queue.objects.filter(name__in=queues).order_by("pk")
                list(rows.select_for_update())
                cursor.execute("SET LOCAL lock_timeout = DEFAULT")
            return
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
    raise ObjectInUse("queue", queues[0], BUSY)


def require_version(one: Declaration, expected: str) -> None:
    row = one.kind.named(one.key).first()
    if expected != (version(one.kind, row) if row else ""):
        raise ChangedSinceRead(" ".join(one.key))


def carry_out(change: ObjectChange, actor: str) -> None:
    """Apply one change, and record it in the audit."""
    kind = change.kind
    row = kind.named(change.key).first() or kind.new(change.key, str(change))
    before, thing = audit.state_of(row), audit.Thing.of(row)
    detail: dict[str, Any] = {}
    if change.verb == "delete":
        detail = {"discarded": removed(kind, row, change, actor)}
    else:
        kind.fill(row, change.values)
        kind.save(row, change.key, change.values)
        thing = audit.Thing.of(row)
    after = {} if change.verb == "delete" else audit.state_of(row)
    changed = {"changed": audit.changes(before, after)}
    audit.record(ACTS[change.verb], thing, detail=changed | detail)


def removed(kind: ObjectKind, row: Any, change: ObjectChange, actor: str) -> int:
    """Delete a row; return how many messages of a queue were discarded."""
    if isinstance(row, Queue):
        return remove_queue(row, purge=change.purge, actor=actor)
    try:
        row.delete()
    except (ProtectedError, RestrictedError) as error:
        found = getattr(error, "protected_objects", error.args[-1])
        others = ", ".join(sorted(map(str, found))[:5])
        why = f"These refer to it: {others}."
        raise ObjectInUse(kind.noun, " ".join(change.key), why) from None
    return 0


def remove_queue(queue: Queue, *, purge: bool, actor: str = "") -> int:
    """Delete a queue that this transaction has locked.

    With ``purge``, its messages go to the discard bin; return how many.

    Raises:
        QueueNotEmpty: it holds messages, and is not to be purged, or consumers hold
            some.
    """
    held = depth(queue)
    discarded = empty(queue, actor) if purge and not held.claimed else 0
    if discarded:
        held = depth(queue)
    if held.total:
        raise QueueNotEmpty(queue.name, held.total, held.claimed)
    sql.fetch_one("delete_queue", queue_id=queue.pk)
    return discarded


def empty(queue: Queue, actor: str) -> int:
    """Discard all messages of a queue; return their number."""
    discarded = 0
    while True:
        taken: dict[Place, list[TakenEntry]] = {Place.READY: [], Place.DELAYED: []}
        wanted = {"queue_id": queue.pk, "limit": AT_ONCE}
        for place, *fields in sql.run("take_queue", wanted):
            taken[Place(place)].append(TakenEntry(*fields))
        for place, entries in taken.items():
            record = Record(Kind.REMOVE, place, actor=actor)
            discard(entries, record, why=PURGED, kind=Kind.REMOVE)
        count = sum(map(len, taken.values()))
        discarded += count
        if not count:
            return discarded
