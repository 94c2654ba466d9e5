"""Commit of settlements and clients' transactions, in a database thread.

Both are in one sequence, so a transaction comes after all earlier requests of its
client.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from django.db import Error as DatabaseError
from django.db import connection, transaction

from broker.errors import BrokerError
from broker.queueing.store import NewMessage
from broker.settlement.batch import Settlement, commit, settle
from broker.sql.threads import DatabaseAway, is_certain, is_lost

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Discharge:
    """A client's transaction to commit, as a whole."""

    settlements: list[Settlement] = field(default_factory=list)
    puts: list[NewMessage] = field(default_factory=list)
    actor: str = ""
    xid: int | None = None  # id of the database transaction of the last attempt


Ending = Settlement | Discharge
Results = Iterator[Exception | None]


def end(items: list[Ending]) -> list[Exception | None]:
    """Commit settlements and transactions, in order.

    Returns:
        The result of each: None if it is committed; ``LockLost`` if an entry is no
        longer held; for a transaction, the error that refuses it. After
        ``DatabaseAway``, or an error that ended the connection, the item may be given
        again: nothing is done twice.
    """
    return list(ended(items))


def ended(items: Sequence[Ending]) -> Results:
    is_away = False
    for kind, group in groupby(items, lambda item: (type(item), item.actor)):
        alike = list(group)
        if is_away:
            yield from [DatabaseAway()] * len(alike)
            continue
        results = attempt(kind[0], alike)
        is_away = is_lost()
        yield from results
    if is_away:
        connection.close()


def attempt(kind: type[Ending], alike: Sequence[Ending]) -> list[Exception | None]:
    try:
        if kind is Settlement:
            settled = [one for one in alike if isinstance(one, Settlement)]
            return settle(settled, actor=settled[0].actor)
        return list(discharged([one for one in alike if isinstance(one, Discharge)]))
    except DatabaseError as error:
        return [error_for_client(error)] * len(alike)


def error_for_client(error: DatabaseError) -> Exception:
    if is_certain(error):
        return DatabaseAway(str(error))
    if not is_lost():
        logger.error("An ending was refused by the database.", exc_info=error)
    return error


def discharged(discharges: Sequence[Discharge]) -> Results:
    """Commit transactions together if possible, otherwise one after the other."""
    if len(discharges) > 1 and all(one.xid is None for one in discharges):
        whole = Discharge(actor=discharges[0].actor)
        for one in discharges:
            whole.settlements += one.settlements
            whole.puts += one.puts
        error = commit_one(whole)
        if error is None or is_lost():
            for one in discharges:
                one.xid = whole.xid
            yield from [error] * len(discharges)
            return
    for one in discharges:
        yield DatabaseAway() if is_lost() else commit_one(one)


def commit_one(discharge: Discharge) -> Exception | None:
    """Commit a transaction, unless the last attempt has committed it; None on
    success."""
    try:
        if discharge.xid is not None and is_committed(discharge.xid):
            return None
        with transaction.atomic():
            discharge.xid = current_xid()
            commit(discharge.settlements, discharge.puts, actor=discharge.actor)
    except (BrokerError, DatabaseAway) as error:
        return error
    except DatabaseError as error:
        return error_for_client(error)
    return None


def current_xid() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()::text")
        return int(cursor.fetchone()[0])


def is_committed(xid: int) -> bool:
    """Whether a database transaction was committed.

    Raises:
        DatabaseAway: it is still in progress, as its connection was lost just now.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_xact_status(%s::text::xid8)", [str(xid)])
        status = cursor.fetchone()[0]
    if status == "in progress":
        raise DatabaseAway(f"Transaction {xid} has not ended yet.")
    return bool(status == "committed")
