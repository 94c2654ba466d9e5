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

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from dashboards.pipeline.events import (
    CARRIED,
    CLAIMED,
    DELAYED,
    FAILED,
    FRESH,
    KINDS,
    OPEN,
    PLACES,
    PUT,
    STAY,
    word,
)
from dashboards.pipeline.link_transfers import TRANSFERS
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
KIND = word("kind", KINDS)
DAY_US = 86_400_000_000
EDGE_US = 1_000_000
LOST = "lost"  # outcome of a delivery whose end is not in the journal


# The lines that a table of silver needs: most are only counted.
NEEDED = """unordered OR ends OR lost OR copy IS NOT NULL OR went IS NULL
    OR day IS NULL OR NOT (next_day <=> day)"""


def deliveries(told: DataFrame) -> DataFrame:
    """Rows of ``DELIVERIES``: the deliveries that ended, from lines of ``events.told``
    that are ``NEEDED``."""
    return told.sparkSession.sql(
        f"""
        SELECT IF(lost, next_day, day) AS day, message_id, queue_id, queue,
            first.stay AS stay, delivery AS attempt, taker.got_at AS got_at,
            IF(lost, next_at, at) AS ended_at,
            IF(lost, '{LOST}', {KIND}) AS outcome,
            NOT lost AND kind IN {FAILED} AS failed,
            IF(lost, NULL, cause) AS cause, IF(lost, NULL, error) AS error,
            IF(lost, NULL, fingerprint) AS fingerprint,
            IF(ends AND went = {DELAYED}, due_at, NULL) AS next_due_at,
            coalesce(taker.handler, IF(lost, NULL, actor)) AS handler,
            coalesce(IF(lost, NULL, uow), taker.uow) AS uow
        FROM {{told}} WHERE delivery > 0 AND (ends OR lost)
        """,  # noqa: S608  # constants
        told=told,
    )


def stays(told: DataFrame, days: Sequence[date]) -> DataFrame:
    """Rows of ``STAYS``, without the parent of each message where ``with_parents`` must
    find it: a stay by its last line, and for each day after which it was open by the
    last line until then.

    Args:
        told: lines of ``events.told`` that are ``NEEDED``.
        days: that are built, in order.
    """
    return told.sparkSession.sql(
        f"""
        SELECT message_id, queue_id, queue, first.stay AS stay, first.began AS began,
            first.put_at AS put_at, first_got_at, delivery AS deliveries, failed,
            waited_us, delayed_us, held_us,
            IF(went IS NULL, cause, NULL) AS cause,
            IF(went IS NULL, error, failure.error) AS error,
            IF(went IS NULL, fingerprint, failure.fingerprint) AS fingerprint,
            source.cause AS put_cause, source.fingerprint AS put_fingerprint,
            source.id AS parent_message_id, source.queue_id AS parent_queue_id,
            source.queue AS parent_queue, source.end AS parent_end,
            source.parent_cause, coalesce(source.repaired, false) AS repaired,
            IF(went IS NULL, at, NULL) AS ended_at,
            IF(went IS NULL, {KIND}, NULL) AS ended,
            IF(went IS NULL, actor, IF(went = {CLAIMED}, taker.handler, NULL))
                AS handler,
            IF(went IS NULL OR went = {CLAIMED}, uow, NULL) AS uow, copy AS became,
            IF(went IS NULL, NULL, {word("went", PLACES)}) AS place,
            IF(went IS NULL, NULL, at) AS since,
            IF(went = {DELAYED}, due_at, NULL) AS due_at, seq AS last_seq,
            IF(went = {CLAIMED}, taker.got_at, NULL) AS got_at, source.day AS from_day,
            explode(IF(went IS NULL, array(day), filter({dates(days)}, one ->
                coalesce(one >= day, true) AND coalesce(one < next_day, true)))) AS day
        FROM {{told}}
        """,  # noqa: S608  # constants
        told=told,
    )


def dates(days: Sequence[date]) -> str:
    """SQL of an array. Spark compiles its code once for all arrays of some length, and
    again for each date or time that stands by itself."""
    return f"""array({", ".join(f"DATE '{day}'" for day in days)})"""


def with_parents(stays: DataFrame, told: DataFrame, *, few: bool) -> DataFrame:
    """The stays, with the message that each was copied from, if it is a copy.

    One statement ends the parent and puts the copy, so both are on the same day. For
    an expired message only its last event tells the cause; its copy is a dead letter,
    too. ``parent_cause`` is the cause for which the parent became a dead letter.

    Args:
        stays: from ``stays``.
        told: the lines that these are made from.
        few: whether the copies are so few that each task may have them all.
    """
    return stays.sparkSession.sql(
        f"""
        WITH copies AS (
            SELECT copy, day, message_id AS id, queue_id, queue, {KIND} AS end, source
            FROM {{told}} WHERE copy IS NOT NULL
        ),
        parent AS (
            SELECT {"/*+ BROADCAST(first) */" * few} one.*, coalesce(one.source.cause,
                IF(coalesce(one.source.end, first.end) = 'expired', 'EXPIRED', NULL))
                AS cause
            FROM copies AS one LEFT JOIN copies AS first ON first.copy = one.id
                AND coalesce(first.day >= one.source.day, true) AND first.day <= one.day
        )
        SELECT {"/*+ BROADCAST(parent) */" * few}
            stay.* EXCEPT (put_cause, parent_message_id, parent_queue_id,
                parent_queue, parent_end, parent_cause, from_day),
            coalesce(stay.put_cause, IF(parent.end = 'expired', 'EXPIRED', NULL))
                AS put_cause,
            coalesce(stay.parent_message_id, parent.id) AS parent_message_id,
            coalesce(stay.parent_queue_id, parent.queue_id) AS parent_queue_id,
            coalesce(stay.parent_queue, parent.queue) AS parent_queue,
            coalesce(stay.parent_end, parent.end) AS parent_end,
            coalesce(stay.parent_cause, parent.cause) AS parent_cause
        FROM {{stays}} AS stay LEFT JOIN parent ON parent.copy = stay.message_id
            AND coalesce(parent.day >= stay.from_day, true) AND parent.day <= stay.day
        """,  # noqa: S608  # constants
        stays=stays,
        told=told,
    )


class Tally(NamedTuple):
    """Sums over the lines of a day; the written tables are checked against them."""

    entries: int  # entries that the day's events count, without links'
    of_links: int  # entries that links carried
    lines: int  # lines, without those for stays that were open before
    begun: int  # stays, including those whose beginning is not known
    ended: int  # stays that ended
    deliveries_ended: int
    again: int  # stays that follow another stay and have no beginning
    # the highest id of a message whose first stay has no beginning
    without_put: int | None
    floor: int | None  # the lowest message id that was put

    def plus(self, other: Tally) -> Tally:
        def all_of(name: str) -> list[int]:
            both = (getattr(self, name), getattr(other, name))
            return [one for one in both if one is not None]

        added: dict[str, Any] = {name: sum(all_of(name)) for name in Tally._fields}
        added["without_put"] = max(all_of("without_put"), default=None)
        added["floor"] = min(all_of("floor"), default=None)
        return Tally(**added)


COUNTS = {
    "entries": f"coalesce(sum(IF(nth_day = {{n}} AND kind <> {CARRIED}, n, 0)), 0)",
    "of_links": f"coalesce(sum(IF(nth_day = {{n}} AND kind = {CARRIED}, n, 0)), 0)",
}
SUMS = {
    "lines": "count_if(nth_day = {n})",
    "begun": "count_if(nth_day = {n} AND begins)",
    "ended": "count_if(nth_day = {n} AND went IS NULL)",
    "deliveries_ended": "count_if(nth_end = {n})",
    "again": f"count_if(nth_day = {{n}} AND lacks_begin AND NOT ({FRESH}))",
    "without_put": f"""max(IF(nth_day = {{n}} AND lacks_begin AND {FRESH},
        message_id, NULL))""",
    "floor": f"min(IF(nth_day = {{n}} AND kind = {PUT}, message_id, NULL))",
}
WHOLE = {  # of all days
    "carried": "count_if(c IS NOT NULL)",  # stays that were open before
    "unordered": "count_if(unordered)",
    "copies": "count_if(copy IS NOT NULL)",
    # stays that begin before the one before them has ended
    "overlaps": "count_if(came IS NULL AND before IS NOT NULL)",
}


def observed(
    frame: DataFrame, sums: dict[str, str], days: Sequence[date], **whole: str
) -> tuple[DataFrame, Observation]:
    """A frame whose use also makes sums, named ``<sum>_<n>`` for the n-th day."""
    seen = Observation()
    each = {
        f"{name}_{n}": sql.format(n=n + 1)
        for n in range(len(days))
        for name, sql in sums.items()
    }
    wanted = (F.expr(sql).alias(name) for name, sql in (each | whole).items())
    return frame.observe(seen, *wanted), seen


def counted(journal: DataFrame, days: Sequence[date]) -> tuple[DataFrame, Observation]:
    """The journal; the first use of the frame makes the sums of ``COUNTS``."""
    nth = F.expr(f"array_position({dates(days)}, CAST(at AS date))")
    return observed(journal.withColumn("nth_day", nth), COUNTS, days)


def needed(
    told: DataFrame, days: Sequence[date], as_of: datetime, *, unordered: bool
) -> tuple[DataFrame, Observation]:
    """The lines that tables need; making them makes ``SUMS`` and ``WHOLE``.

    Args:
        told: lines, from ``events.told``.
        days: that are built, in order.
        as_of: all events before this time are in the archive. Close to the start of a
            day the order of events is not certain; whether a stay has a beginning is
            not asked there.
        unordered: whether lines of unordered entries are summed, too.
    """
    both = "true" if unordered else "NOT unordered"
    known = told.selectExpr(
        "*",
        f"IF({both}, array_position({dates(days)}, day), NULL) AS nth_day",
        f"""IF({both}, array_position({dates(days)}, CASE WHEN lost THEN next_day
            WHEN ends THEN day END), NULL) AS nth_end""",
        f"""begins AND came IS NOT NULL
            AND unix_micros(at) % {DAY_US} >= {EDGE_US}
            AND exists(array(TIMESTAMP '{as_of.isoformat()}'), one -> at <= one)
            AS lacks_begin""",
    )
    seen, sums = observed(known, SUMS, days, **WHOLE)
    return seen.where(NEEDED).drop("nth_day", "nth_end", "lacks_begin"), sums


def summed(stays: DataFrame, days: Sequence[date]) -> tuple[DataFrame, Observation]:
    """The stays; writing them makes ``opened_<n>`` for each day, the checksum of the
    stays that go on. It does not depend on their order."""
    names = [one.split()[0] for one in OPEN.split(",")]
    nulls = ", ".join(f"{name} IS NULL" for name in names)  # which a hash leaves out
    both = f"xxhash64({', '.join(names)}, array({nulls}))"
    which = f"IF(goes_on, array_position({dates(days)}, day), NULL)"
    known = stays.selectExpr(
        "*", f"{which} AS nth_day", f"IF(goes_on, {both}, NULL) AS content"
    )
    sums = {"opened": "bit_xor(IF(nth_day = {n}, content, NULL))"}
    seen, opened = observed(known, sums, days)
    return seen.drop("nth_day", "content"), opened


def tallies(days: Sequence[date], *seen: dict[str, Any]) -> list[Tally]:
    """The sums of each day, from what was observed."""
    found = {name: value for one in seen for name, value in one.items()}
    return [
        Tally(*(found.get(f"{name}_{n}", 0) for name in Tally._fields))
        for n in range(len(days))
    ]


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
    require_equal("every entry of every event is read", found.lines, found.entries)
    require_equal("every entry ends once", found.ended - found.again, found.ended)
    last = found.without_put
    is_known = floor is not None and last is not None and last >= floor
    require_equal("no delivery is without a put", int(is_known), 0)
    ends = found.deliveries_ended
    require_equal("every delivery that ended is a row", deliveries, ends)
    require_equal("every stay that ended is a timeline", lifelines, found.ended)
    stays = carried + found.begun
    require_equal("every stay goes on or has ended", lifelines + opened, stays)
