"""Rows of connections and endpoints; all of this runs in a database thread.

The rows belong to this process as their owner. Names come from clients; characters
that PostgreSQL cannot store are replaced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from broker import sql
from broker.amqp.ends import Snapshot
from broker.models import Queue
from broker.models.clients import ClientConnection, ClientEndpoint
from broker.queueing import processes
from broker.sql import fencing

KIND = "listener"  # the kind of owner that a listener is
CONTAINERS = 0x424C  # the first key of the advisory locks on container ids
LONGEST_NAME = 255  # most characters stored of a name that a client chose
INTEGER = 2**31 - 1
COUNTS = ("credit", "unsettled", "messages", "busy_percent", "uncommitted")
HELD = """
SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted
AND classid = %s AND objid::bigint = ANY (%s::bigint[]) AND objsubid = 2
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class CloseRequests(NamedTuple):
    """Ids of rows whose connections or endpoints operators want closed."""

    connections: frozenset[int]
    endpoints: frozenset[int]


@dataclass(slots=True)
class Round:
    """The changes to write in one transaction.

    ``everything`` is set when the rows may be gone, as when other processes took this
    one for dead: then all connections are written again.
    """

    new: list[ClientEndpoint] = field(default_factory=list)
    changed: dict[int, Snapshot] = field(default_factory=dict)  # by row id
    gone_endpoints: list[int] = field(default_factory=list)
    gone_connections: list[int] = field(default_factory=list)
    everything: list[ClientConnection] | None = None


class OwnerChanged(Exception):
    """This process has a new owner, which has no rows yet."""


def begin() -> None:
    """Make this process an owner, before it has clients."""
    processes.current(KIND)


def enter(row: ClientConnection, *, is_alone: bool) -> bool:
    """Insert the row of a connection.

    Args:
        row: a row without an id; the insert sets it.
        is_alone: whether no other process may have its container id.

    Returns:
        False if another process has it; then nothing is written.
    """
    row.owner_id = processes.current(KIND)
    with fencing.short_transaction():
        if is_alone and is_elsewhere(row):
            return False
        row.save(force_insert=True)
    return True


def is_elsewhere(row: ClientConnection) -> bool:
    """Whether another live process has a connection of this container id.

    The advisory lock lasts until the end of the transaction: of two concurrent
    transactions, the second sees the row of the first.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(%s::int, hashtext(%s))",
            [CONTAINERS, row.container_id],
        )
    same = ClientConnection.objects.filter(container_id=row.container_id)
    others = same.exclude(owner_id=row.owner_id).order_by()
    return bool(living(others.values_list("owner_id", flat=True).distinct()))


def living(owner_ids: Iterable[int]) -> list[int]:
    """The owners whose processes are alive, as they hold their advisory locks. A
    process that hangs is ended, so that its clients can connect to another one."""
    if not (asked := list(owner_ids)):
        return []
    with connection.cursor() as cursor:
        cursor.execute(HELD, [processes.LOCK_CLASS, asked])
        held = {owner_id for (owner_id,) in cursor.fetchall()}
    return list(held - fencing.end_hanging(held, KIND))


def hold(row: ClientEndpoint, gone: Sequence[int]) -> bool:
    """Insert the row of an endpoint that is to get from a queue, perhaps exclusively.

    It locks the queue's row, so a second call for the same queue waits.

    Args:
        row: a row without an id; the insert sets it.
        gone: ids of this process's rows to delete first.

    Returns:
        False if another endpoint has the queue exclusively, or this one is to be
        exclusive and there are others, or the queue is gone; then nothing is written.
    """
    with fencing.short_transaction():
        delete(Q(pk__in=gone))
        queues = Queue.objects.select_for_update(no_key=True)
        queue = queues.filter(pk=row.queue_id or 0).first()
        if queue is None or in_the_way(row):
            return False
        row.node = queue.name
        row.save(force_insert=True)
    return True


def in_the_way(row: ClientEndpoint) -> bool:
    """Whether a live endpoint conflicts with this endpoint; endpoints of dead processes
    are deleted."""
    others = ClientEndpoint.objects.filter(queue=row.queue_id, kind=row.kind)
    if not row.is_exclusive:
        others = others.filter(is_exclusive=True)
    owners = others.order_by().values_list("connection__owner_id", flat=True)
    live = living(owners.distinct())
    others.exclude(connection__owner_id__in=live).delete()
    return bool(live)


def write(now: Round) -> CloseRequests:
    """Write the changes of one round; return the requests to close.

    Raises:
        OwnerChanged: nothing was written; call it with ``everything``.
        IntegrityError: nothing was written, as rows are missing; call it with
            ``everything``.
        DatabaseError: nothing was written.
    """
    if processes.renew(KIND) and now.everything is None:
        raise OwnerChanged
    with fencing.short_transaction():
        remove(now)
        if now.everything is not None:
            restore(now.everything)
        add(now.new)
        return note(now.changed)


def remove(now: Round) -> None:
    delete(Q(pk__in=now.gone_endpoints) | Q(connection__in=now.gone_connections))
    if now.gone_connections:
        ClientConnection.objects.filter(pk__in=now.gone_connections).delete()


def delete(which: Q) -> None:
    """Delete endpoints in the order of their ids, so that a round and an attach that
    delete the same rows cannot deadlock."""
    endpoints = ClientEndpoint.objects.filter(which).order_by("pk").select_for_update()
    if ids := list(endpoints.values_list("pk", flat=True)):
        ClientEndpoint.objects.filter(pk__in=ids).delete()


def restore(connections: Sequence[ClientConnection]) -> None:
    """Delete and insert the rows of connections again, for the new owner."""
    ids = [one.pk for one in connections]
    delete(Q(connection__in=ids))
    ClientConnection.objects.filter(pk__in=ids).delete()
    for one in connections:
        one.owner_id = processes.current(KIND)
    ClientConnection.objects.bulk_create(connections)


def add(endpoints: Sequence[ClientEndpoint]) -> None:
    """Insert endpoints. If the queue of an endpoint was deleted meanwhile, its row has
    no queue. If another endpoint holds the queue exclusively, the new one is not
    exclusive."""
    ids = {one.queue_id for one in endpoints if one.queue_id is not None}
    if ids:
        queues = Queue.objects.filter(pk__in=ids).select_for_update(no_key=True)
        here = set(queues.order_by("pk").values_list("pk", flat=True))
        taken = set(held(ids))
        for one in endpoints:
            one.is_exclusive = one.is_exclusive and one.queue_id not in taken
            one.queue_id = one.queue_id if one.queue_id in here else None
    if endpoints:
        ClientEndpoint.objects.bulk_create(endpoints)


def held(queue_ids: Collection[int]) -> QuerySet[ClientEndpoint, int | None]:
    """The ids of those queues that an endpoint holds exclusively."""
    holders = ClientEndpoint.objects.filter(queue__in=queue_ids, is_exclusive=True)
    return holders.values_list("queue_id", flat=True)


def note(changed: dict[int, Snapshot]) -> CloseRequests:
    now = list(changed.values())
    asked = sql.fetch(
        "note_clients",
        which,
        ids=list(changed),
        credits=[one.credit for one in now],
        unsettled=[min(one.unsettled, INTEGER) for one in now],
        messages=[one.messages for one in now],
        busy=[one.busy_percent for one in now],
        uncommitted=[one.uncommitted for one in now],
        owner_id=processes.current(KIND),
    )
    return CloseRequests(
        connections=frozenset(one for is_endpoint, one in asked if not is_endpoint),
        endpoints=frozenset(one for is_endpoint, one in asked if is_endpoint),
    )


def which(is_endpoint: bool, row_id: int) -> tuple[bool, int]:  # noqa: FBT001
    return is_endpoint, row_id


@transaction.atomic
def leave(connection_ids: Sequence[int]) -> None:
    """Remove connections and their endpoints, as at the end of the process."""
    remove(Round(gone_connections=list(connection_ids)))


def readable(name: object) -> str:
    """A name from a client, changed so that a column can store it."""
    return str(name).replace("\0", "\ufffd")[:LONGEST_NAME]
