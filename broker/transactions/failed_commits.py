"""What is known after a commit that failed."""

from __future__ import annotations

from typing import Any, Protocol

import psycopg

from broker.errors import LockLost
from broker.settlement.outcomes import describe


class Committed(Protocol):
    """The part of a unit of work that is needed here."""

    id: int | None

    def back_out(self, error: str, *, by_system: bool) -> Any: ...


def is_undone(
    work: Committed, error: Exception, line: psycopg.Connection | None
) -> bool:
    """Back a unit of work out whose commit failed; return whether it is known that
    nothing was committed.

    If the connection was lost during the commit, and another one can still back the
    unit of work out, nothing was committed; if not, the journal has the answer.

    Args:
        work: the unit of work.
        error: why it failed.
        line: the connection of the commit; None: there was none.
    """
    if line is None:
        return False
    is_in_doubt = bool(line.closed)
    if is_in_doubt and work.id is None:
        return False
    try:
        work.back_out(describe(error), by_system=True)
    except LockLost:  # it has ended already
        return not is_in_doubt
    return True
