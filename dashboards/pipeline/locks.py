"""Advisory locks of PostgreSQL: who holds one lives, and loses it by dying.

They stand in the space of two integers, the broker's owners in the space of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dashboards import sql

SPACE = 0x7265706F  # any number that nobody else takes
ARCHIVE = 0  # runs have the others, by their id


@contextmanager
def attempted(number: int) -> Iterator[bool]:
    """Try for a lock; gives whether it is held until the block ends.

    The connection holds it, not a transaction: nothing waits for this one to end.
    """
    (held,) = sql.fetch_one("try_lock", space=SPACE, number=number)
    try:
        yield held
    finally:
        if held:
            sql.fetch_one("unlock", space=SPACE, number=number)


def is_held(number: int) -> bool:
    (held,) = sql.fetch_one("lock_is_held", space=SPACE, number=number)
    return bool(held)
