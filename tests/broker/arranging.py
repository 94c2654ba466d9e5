"""What two sessions work on: made anew for each schedule, or made once and put back."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

from django.db import connection, connections, transaction
from django.db.backends.postgresql.base import DatabaseWrapper

from broker.models import Queue
from broker.queueing import low_watermarks, processes
from broker.settlement.settings_cache import caches, rules_of
from tests.conftest import HOT

if TYPE_CHECKING:
    from tests.broker.interleavings import Scene

PLANNED = ("operationitem", "course", "operation")
WRITTEN = (*PLANNED, *(table for table in HOT if table != "owner"))


class Arranged:
    """Scenes of one kind, each in a broker that has nothing else but its map."""

    def __init__(self, kind: type[Scene]) -> None:
        self.kind = kind
        self.first: Scene | None = None
        self.kept: list[str] = []

    def again(self) -> Scene:
        forget_messages()
        if self.first is not None:
            put_back(self.kept)
            return deepcopy(self.first)
        scene = self.kind()
        scene.arrange()
        if scene.is_put_back:
            self.first, self.kept = deepcopy(scene), keep()
        return scene


def forget_messages() -> None:
    """Empty the queues and keep the map: quicker than ``empty_the_broker``."""
    processes.renew()
    low_watermarks.FLOORS.forget()
    with connection.cursor() as cursor:
        cursor.execute("; ".join(f"DELETE FROM broker_{table}" for table in WRITTEN))
        cursor.execute("DELETE FROM broker_owner WHERE id <> %s", [processes.current()])


def keep() -> list[str]:
    """Copy what is in the tables aside; which tables there is something in."""
    kept = []
    with connection.cursor() as cursor:
        for table in WRITTEN:
            cursor.execute(f"SELECT EXISTS (SELECT FROM broker_{table})")
            if cursor.fetchone()[0]:
                cursor.execute(f"DROP TABLE IF EXISTS pg_temp.kept_{table}")
                cursor.execute(
                    f"CREATE TEMP TABLE kept_{table} AS TABLE broker_{table}"
                )
                kept.append(table)
    return kept


@transaction.atomic
def put_back(kept: list[str]) -> None:
    """Row by row as it was: nothing is counted, nor noted, a second time."""
    rows = [f"INSERT INTO broker_{one} TABLE pg_temp.kept_{one}" for one in kept]
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("; ".join(rows))


def read_settings(session: DatabaseWrapper) -> None:
    """Have a session read the settings of all queues, and no route, whatever it has
    read before: then each schedule runs again as it ran once."""
    here, connections["default"] = connections["default"], session
    try:
        caches.pop(session.connection, None)
        rules_of(set(Queue.objects.values_list("pk", flat=True)))
    finally:
        connections["default"] = here
