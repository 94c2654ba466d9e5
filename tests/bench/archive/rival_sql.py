"""What silver is, as SQL: the reference that DuckDB computes, in Spark's words.

``pipeline.timelines`` and ``pipeline.silver_rows`` compute the same in Arrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from dashboards.pipeline.events import (
    BACKED_OUT,
    CLAIMED,
    DEAD,
    DELAYED,
    DISCARDED,
    FAILED,
    GOT,
    KINDS,
    PLACES,
    PUT,
    READY,
)
from dashboards.pipeline.silver import LOST

WORDS = "CASE {column} {cases} ELSE 'unknown' END"


def word(column: str, words: dict[str, int]) -> str:
    """SQL that translates the number in a column to its word."""
    cases = " ".join(f"WHEN {number} THEN '{word}'" for word, number in words.items())
    return WORDS.format(column=column, cases=cases)


KIND = word("kind", KINDS)


def ordered(lines: Any) -> Any:
    """The lines, numbered within their entry (``o``), with what ``told`` needs of the
    lines before and after: the former's ``went``, day and time, the latter's ``came``,
    day and time."""
    return lines.sparkSession.sql(
        f"""
        SELECT *, row_number() OVER entry AS o, lag(went) OVER entry AS before,
            lag(day) OVER entry AS day_before, lag(at) OVER entry AS at_before,
            lead(came) OVER entry AS next_came, lead(day) OVER entry AS next_day,
            lead(at) OVER entry AS next_at
        FROM {{lines}}
        WINDOW entry AS (PARTITION BY queue_id, message_id ORDER BY {ORDER})
        """,
        lines=lines,
    )


LINE = """
    queue_id, message_id, queue, at, day, seq, kind, came, went, uow, actor, error,
    fingerprint, cause, copy, due_at, operation, repaired, c
"""
ORDER = "turn, at, seq"  # of the lines of an entry; the same text for every window
# The line is the first of its entry on its day, and no stay was open before.
FRESH = "before IS NULL AND NOT (day <=> day_before)"
# The line does not continue the line before.
BROKEN = f"o > 1 AND NOT (came <=> before) AND NOT ({FRESH})"
# A delivery that ended after its unit of work was deleted; it has no get event.
UNSEEN = f"""(came = {READY} AND operation IS NULL AND (kind IN ({BACKED_OUT}, {DEAD})
    OR kind = {DISCARDED} AND cause IS NOT NULL))"""
SUMS = {  # over the lines of a stay
    "deliveries": "starts",
    "failed": f"ends AND kind IN {FAILED}",
    "waited_us": f"before = {READY}",
    "delayed_us": f"before = {DELAYED}",
    "held_us": f"before = {CLAIMED}",
}


def told(ordered: Any) -> Any:
    """The lines with their stays and deliveries; silver is built from them.

    Each line has what is known of its stay up to it, so a table of silver is some of
    the lines. All windows have the same order: Spark sorts once.

    begins     whether the line is the first of its stay
    first      of that line: the ``stay`` (its seq, perhaps on an earlier day), how it
               ``began``, when it was put
    source     where the message came from, by the first line of the entry, or by the
               first on a day before which nothing was open; it holds for all stays
               that follow, until such a line comes again
    delivery   the number of the newest delivery of the stay, from 1; 0 before any
    taker      who got it, when, and in which unit of work
    starts, ends   whether that delivery starts or ends with this line
    lost       whether the journal has no end of that delivery; it then ends at
               ``next_at``
    next_day, next_at   of the next line of the stay; null if there is none
    first_got_at, failed, waited_us, delayed_us, held_us   of the stay
    failure    the newest error of the stay
    broken     whether the line does not continue the line before
    unordered       whether any line of the entry is broken
    """
    summed = with_sums(marked(ordered))
    return summed.sparkSession.sql(
        f"""
        WITH counted AS (
            SELECT *, last(IF(begins, struct({
            ", ".join(f"all_{one} - own_{one} AS {one}" for one in SUMS)
        }), NULL), true)
                    OVER entry AS until_stay,
                min(CASE WHEN kind = {GOT} THEN struct(-nth AS stay, at)
                    WHEN c.first_got_at IS NOT NULL
                    THEN struct(-nth AS stay, c.first_got_at AS at) END)
                    OVER entry AS first_got
            FROM {{summed}} WINDOW entry AS {ENTRY}
        )
        SELECT {LINE}, o, day_before, before, next_day, next_at, begins, first, source,
            CAST(all_deliveries - until_stay.deliveries AS int) AS delivery, taker,
            starts, ends, lost,
            IF(first_got.stay = -nth, first_got.at, NULL) AS first_got_at,
            CAST(all_failed - until_stay.failed AS int) AS failed,
            {", ".join(f"all_{one} - until_stay.{one} AS {one}" for one in TIMES)},
            failure, broken, unordered
        FROM counted
        """,
        summed=summed,
    )


def marked(ordered: Any) -> Any:
    """The lines, with what the lines before and after say of each."""
    return ordered.sparkSession.sql(
        f"""
        SELECT * EXCEPT (next_day, next_at),
            coalesce({BROKEN}, false) AS broken,
            came IS NULL OR before IS NULL AS begins,
            coalesce(kind = {GOT} OR {UNSEEN}
                OR came = {CLAIMED} AND NOT (before <=> came), false) AS starts,
            coalesce(came = {CLAIMED} AND NOT (went <=> came) OR {UNSEEN}, false)
                AS ends,
            coalesce(went = {CLAIMED} AND next_came <> went, false) AS lost,
            IF(next_came IS NOT NULL AND went IS NOT NULL, next_day, NULL)
                AS next_day,
            IF(next_came IS NOT NULL AND went IS NOT NULL, next_at, NULL)
                AS next_at
        FROM {{ordered}}
        """,
        ordered=ordered,
    )


def with_sums(marked: Any) -> Any:
    """The marked lines, with sums over their entry, and the newest of what is kept."""
    added = ", ".join(map(own, SUMS))
    return marked.sparkSession.sql(
        f"""
        SELECT *, sum(CAST(begins AS int)) OVER entry AS nth,
            bool_or(broken) OVER whole AS unordered,
            {", ".join(f"sum(own_{one}) OVER entry AS all_{one}" for one in SUMS)},
            last(IF(begins, struct(coalesce(c.stay, seq) AS stay,
                CASE WHEN c IS NOT NULL THEN c.began
                    WHEN came IS NULL THEN {word("kind", KINDS)}
                    ELSE 'unknown' END AS began,
                CASE WHEN c IS NOT NULL THEN c.put_at WHEN came IS NULL THEN at END
                    AS put_at), NULL), true) OVER entry AS first,
            last(IF(o = 1 OR {FRESH}, struct(
                coalesce(c.put_cause, IF(kind = {PUT}, cause, NULL)) AS cause,
                coalesce(c.put_fingerprint, IF(kind = {PUT}, fingerprint, NULL))
                    AS fingerprint,
                coalesce(c.repaired, IF(kind = {PUT}, repaired, NULL)) AS repaired,
                c.parent_message_id AS id, c.parent_queue_id AS queue_id,
                c.parent_queue AS queue, c.parent_end AS end,
                c.parent_cause AS parent_cause, day), NULL), true)
                OVER entry AS source,
            last(IF(begins OR starts, struct(
                IF(kind = {GOT}, at, c.got_at) AS got_at,
                IF(kind = {GOT}, actor, c.handler) AS handler,
                IF(starts OR c.place = 'claimed', uow, NULL) AS uow), NULL), true)
                OVER entry AS taker,
            last(IF(begins OR kind = {BACKED_OUT}, struct(
                IF(kind = {BACKED_OUT}, error, c.error) AS error,
                IF(kind = {BACKED_OUT}, fingerprint, c.fingerprint)
                    AS fingerprint), NULL), true) OVER entry AS failure
        FROM (SELECT *, {added} FROM {{marked}})
        WINDOW entry AS {ENTRY}, whole AS {WHOLE}
        """,
        marked=marked,
    )


TIMES = [one for one in SUMS if one.endswith("_us")]
ENTRY, WHOLE = (
    f"""(PARTITION BY queue_id, message_id ORDER BY {ORDER}
        ROWS BETWEEN UNBOUNDED PRECEDING AND {end})"""
    for end in ("CURRENT ROW", "UNBOUNDED FOLLOWING")
)


def own(column: str) -> str:
    """SQL: what a line adds to a sum of its stay, without the place it is in now."""
    if column in TIMES:
        value = f"""IF(NOT begins AND {SUMS[column]},
            greatest(unix_micros(at) - unix_micros(at_before), 0), 0)"""
    else:
        value = f"CAST({SUMS[column]} AS int)"
    return f"coalesce({value}, 0) + coalesce(c.{column}, 0) AS own_{column}"


# The lines that a table of silver needs: most are only counted.
NEEDED = """unordered OR ends OR lost OR copy IS NOT NULL OR went IS NULL
    OR day IS NULL OR NOT (next_day <=> day)"""


def deliveries(told: Any) -> Any:
    """The deliveries that ended, from lines of ``told`` that are ``NEEDED``."""
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
        """,
        told=told,
    )


def stays(told: Any, days: Sequence[date]) -> Any:
    """Rows of ``STAYS``, without the parent of each message where ``with_parents`` must
    find it: a stay by its last line, and for each day after which it was open by the
    last line until then.

    Args:
        told: lines of ``told`` that are ``NEEDED``.
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
        """,
        told=told,
    )


def dates(days: Sequence[date]) -> str:
    """SQL of an array. Spark compiles its code once for all arrays of some length, and
    again for each date or time that stands by itself."""
    return f"""array({", ".join(f"DATE '{day}'" for day in days)})"""


def with_parents(stays: Any, told: Any, *, few: bool) -> Any:
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
        """,
        stays=stays,
        told=told,
    )
