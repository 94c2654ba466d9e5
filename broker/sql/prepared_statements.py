"""Prepared statements that outlive a rollback.

psycopg deallocates all prepared statements of a connection after each ROLLBACK, also
after ROLLBACK TO SAVEPOINT. PostgreSQL keeps them, and plans a statement anew when a
table has changed. So a program that rolls back pays for the planning of each statement
again: half of the time of a failing handler.
"""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from psycopg._preparing import Key, Prepare, PrepareManager
from psycopg._queries import PostgresQuery
from psycopg.pq.abc import PGresult

# First words of commands that make prepared statements invalid.
FORGET = (b"DROP", b"ALTER", b"DISCARD", b"DEALLOCATE")


class PreparedStatements(PrepareManager):
    """The prepared statements of one connection. A rollback keeps those that were
    prepared by ``prepare=True``, as the broker's are, and deallocates the others, which
    psycopg prepared because they were repeated."""

    def __init__(self) -> None:
        super().__init__()
        self.lasting: set[Key] = set()

    def get(
        self,
        query: PostgresQuery,
        prepare: bool | None = None,  # noqa: FBT001
    ) -> tuple[Prepare, bytes]:
        how, name = super().get(query, prepare)
        if prepare and how is Prepare.SHOULD:
            self.lasting.intersection_update(self._names)  # forget evicted ones
            self.lasting.add(self.key(query))
        return how, name

    def clear(self) -> bool:
        """Deallocate what a rollback does not keep; psycopg calls it after one."""
        if not self.lasting:
            return super().clear()
        self._counts.clear()
        others = [key for key in self._names if key not in self.lasting]
        self._to_flush.extend(self._names.pop(key) for key in others)
        return bool(others)

    def _should_discard(
        self, prep: Prepare, results: Sequence[PGresult], *unused: object
    ) -> bool:
        if any((one.command_status or b"").startswith(FORGET) for one in results):
            self.lasting.clear()
        return super()._should_discard(prep, results)

    def name_of(self, text: bytes, types: tuple[int, ...]) -> bytes | None:
        """The name of a prepared statement; empty if none is prepared on this
        connection; None if a cursor must run it: it is not prepared yet, or others must
        be deallocated first."""
        if self.prepare_threshold is None:
            return b""
        if self._to_flush or (name := self._names.get((text, types))) is None:
            return None
        self._names.move_to_end((text, types))  # the oldest is deallocated
        return name


def keep_over_rollbacks(line: psycopg.Connection) -> PreparedStatements:
    """From now on, a rollback on this connection keeps the broker's statements."""
    if not isinstance(line._prepared, PreparedStatements):
        keeping = PreparedStatements()
        vars(keeping).update(vars(line._prepared))
        line._prepared = keeping
    return line._prepared
