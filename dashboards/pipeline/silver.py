"""Silver: deliveries and stays with their outcome, by the day on which they ended.

    deliveries  one row for each delivery attempt that ended
    lifelines   one row for each stay of a message on a queue that ended
    open        one row for each stay that is not over at the end of the day
    transfers   one row for each message and event of a link, see link_transfers.py

The first three are built from the lines of some days and the stays that were open
before them. What a day has does not depend on the days it was built together with.
A stay begins with a put, a restore from the discard bin, or an undo.
Durations are in microseconds; the time in a place starts when the entry comes there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date
from functools import reduce
from typing import Any, NamedTuple

from dashboards.pipeline.events import OPEN, STAY
from dashboards.pipeline.link_transfers import TRANSFERS
from dashboards.reports.declaration import gettext_noop
from dashboards.reports.quality import require_equal

VERSION = 1  # the version of the columns below and of their meaning
DELIVERIES = """
    day date, message_id bigint, queue_id int, queue string, stay bigint, attempt int,
    got_at timestamp, ended_at timestamp, outcome string, failed boolean, cause string,
    error string, fingerprint string, next_due_at timestamp, handler string, uow bigint
"""
# The files of both tables of stays have these columns.
ENDED = f"""{STAY}, ended_at timestamp, ended string, handler string, uow bigint,
    became bigint"""
STAYS = f"{ENDED}, place string, since timestamp, due_at timestamp, last_seq bigint, \
    got_at timestamp, day date"
LIFELINES = f"{ENDED}, day date"
SCHEMAS = {
    "deliveries": DELIVERIES,
    "lifelines": LIFELINES,
    "open": f"{OPEN}, day date",
    "transfers": TRANSFERS,
}
LOST = "lost"  # outcome of a delivery whose end is not in the journal


class Tally(NamedTuple):
    """Sums over the lines of a day; the written tables are checked against them."""

    entries: int  # entries in the day's events, but for those that links carried
    of_links: int  # entries that links carried
    lines: int = 0  # all lines, but for those that stand for stays open before
    begun: int = 0  # stays, including those whose beginning is not known
    ended: int = 0  # stays that ended
    deliveries_ended: int = 0
    again: int = 0  # stays that follow another stay and have no beginning
    # the highest id of a message whose first stay has no beginning
    without_put: int | None = None
    floor: int | None = None  # the lowest message id that was put

    def plus(self, other: Tally) -> Tally:
        def all_of(name: str) -> list[int]:
            both = (getattr(self, name), getattr(other, name))
            return [one for one in both if one is not None]

        added: dict[str, Any] = {name: sum(all_of(name)) for name in Tally._fields}
        added["without_put"] = max(all_of("without_put"), default=None)
        added["floor"] = min(all_of("floor"), default=None)
        return Tally(**added)


def summed(
    parts: list[list[dict[str, Any]]],
    days: Sequence[date],
    entries: Counter[tuple[date, bool]],
) -> list[Tally]:
    """The sums of each day, over all parts and of what its events count."""
    found = []
    for n, day in enumerate(days):
        none = Tally(entries[day, False], entries[day, True])
        told = (Tally(0, 0, **part[n]) for part in parts)
        found.append(reduce(Tally.plus, told, none))
    return found


def check(
    found: Tally,
    *,
    carried: int,
    deliveries: int,
    lifelines: int,
    opened: int,
    floor: int | None,
) -> None:
    """Check a day's tables against its lines, and the lines against the journal.

    Args:
        found: the sums of the lines.
        carried: the number of stays that were open before.
        deliveries, lifelines, opened: the numbers of rows that were written.
        floor: messages with a lower id may have been put before the archive began.

    Raises:
        QualityBroken: the numbers differ; nothing may be published.
    """
    require_equal(
        gettext_noop("every message of every journal row was read"),
        found.lines,
        found.entries,
    )
    require_equal(
        gettext_noop("no message left a queue twice"),
        found.ended - found.again,
        found.ended,
    )
    last = found.without_put
    is_known = floor is not None and last is not None and last >= floor
    require_equal(
        gettext_noop("every delivered message was put before"), int(is_known), 0
    )
    ends = found.deliveries_ended
    require_equal(
        gettext_noop("every delivery that ended is counted once"), deliveries, ends
    )
    require_equal(
        gettext_noop("every message that left a queue is counted once"),
        lifelines,
        found.ended,
    )
    stays = carried + found.begun
    require_equal(
        gettext_noop("every message is still on a queue or has left it"),
        lifelines + opened,
        stays,
    )
