"""Silver: deliveries and stays with their outcome, by the day on which they ended.

    deliveries  one row for each delivery attempt that ended
    lifelines   one row for each stay of a message on a queue that ended
    open        one row for each stay that is not over at the end of the day
    transfers   one row for each message and event of a link, see link_transfers.py

The first three are built from the lines of one day and the stays that were open before
it. A stay begins with a put, a restore from the discard bin, or an undo.
Durations are in microseconds; the time in a place starts when the entry comes there.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql import DataFrame

from dashboards.pipeline.events import (
    BACKED_OUT,
    BROKEN,
    CLAIMED,
    DELAYED,
    FAILED,
    GOT,
    KINDS,
    OPEN,
    PLACES,
    READY,
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
LOST = "lost"  # outcome of a delivery whose end is not in the journal


def deliveries(told: DataFrame) -> DataFrame:
    """Rows of ``DELIVERIES`` without the day: the deliveries that ended."""
    return told.sparkSession.sql(
        f"""
        SELECT message_id, queue_id, max(queue) AS queue,
            max(stay) AS stay, delivery AS attempt,
            max(CASE WHEN kind = {GOT} THEN at WHEN held THEN c.got_at END) AS got_at,
            coalesce(max(at) FILTER (WHERE ends), max(until) FILTER (WHERE lost))
                AS ended_at,
            coalesce(max({KIND}) FILTER (WHERE ends), '{LOST}') AS outcome,
            coalesce(bool_or(kind IN {FAILED}) FILTER (WHERE ends), false) AS failed,
            max(cause) FILTER (WHERE ends) AS cause,
            max(error) FILTER (WHERE ends) AS error,
            max(fingerprint) FILTER (WHERE ends) AS fingerprint,
            max(due_at) FILTER (WHERE ends AND went = {DELAYED}) AS next_due_at,
            coalesce(
                max(CASE WHEN kind = {GOT} THEN actor WHEN held THEN c.handler END),
                max(actor) FILTER (WHERE ends)) AS handler,
            coalesce(max(uow) FILTER (WHERE ends),
                max(uow) FILTER (WHERE starts OR held)) AS uow,
            nth
        FROM (SELECT *, coalesce(c.place = 'claimed', false) AS held FROM {{told}})
        WHERE delivery > 0
        GROUP BY queue_id, message_id, nth, delivery
        HAVING bool_or(ends OR lost)
        """,  # noqa: S608  # constants
        told=told,
    )


def stays(told: DataFrame) -> DataFrame:
    """Rows of ``STAYS`` without the day and without the parent of each message."""
    return told.sparkSession.sql(
        f"""
        WITH stay AS (
            SELECT message_id, queue_id, nth, max_by(queue, o) AS queue,
                max(stay) AS stay,
                min_by(CASE WHEN c IS NOT NULL THEN c.began
                    WHEN came IS NULL THEN {KIND} ELSE 'unknown' END, o) AS began,
                min(CASE WHEN c IS NOT NULL THEN c.put_at
                    WHEN begins AND came IS NULL THEN at END) AS put_at,
                min(CASE WHEN c IS NOT NULL THEN c.first_got_at
                    WHEN kind = {GOT} THEN at END) AS first_got_at,
                max(delivery) AS deliveries,
                CAST(sum(CAST(ends AND kind IN {FAILED} AS int) + coalesce(c.failed, 0))
                    AS int) AS failed,
                {spent("waited_us", READY)}, {spent("delayed_us", DELAYED)},
                {spent("held_us", CLAIMED)},
                max_by(struct(at, seq, kind, went, uow, actor, cause, error,
                    fingerprint, due_at, copy), o) AS last,
                max_by(coalesce(c.error, error), o) FILTER (WHERE kind = {BACKED_OUT}
                    OR c.error IS NOT NULL) AS last_error,
                max_by(coalesce(c.fingerprint, fingerprint), o) FILTER (
                    WHERE kind = {BACKED_OUT} OR c.fingerprint IS NOT NULL)
                    AS last_fingerprint,
                max_by(CASE WHEN kind = {GOT} THEN at ELSE c.got_at END, o)
                    FILTER (WHERE kind = {GOT} OR c IS NOT NULL) AS got_at,
                max_by(CASE WHEN kind = {GOT} THEN actor ELSE c.handler END, o)
                    FILTER (WHERE kind = {GOT} OR c IS NOT NULL) AS handler,
                any_value(source) AS source
            FROM {{told}} GROUP BY queue_id, message_id, nth
        )
        SELECT message_id, queue_id, queue, stay, began, put_at, first_got_at,
            deliveries, failed, waited_us, delayed_us, held_us,
            IF(last.went IS NULL, last.cause, NULL) AS cause,
            IF(last.went IS NULL, last.error, last_error) AS error,
            IF(last.went IS NULL, last.fingerprint, last_fingerprint) AS fingerprint,
            source.cause AS put_cause, source.fingerprint AS put_fingerprint,
            source.id AS parent_message_id, source.queue_id AS parent_queue_id,
            source.queue AS parent_queue, source.end AS parent_end,
            source.parent_cause, coalesce(source.repaired, false) AS repaired,
            IF(last.went IS NULL, last.at, NULL) AS ended_at,
            IF(last.went IS NULL, {word("last.kind", KINDS)}, NULL) AS ended,
            IF(last.went IS NULL, last.actor, IF(last.went = {CLAIMED}, handler, NULL))
                AS handler,
            IF(last.went IS NULL OR last.went = {CLAIMED}, last.uow, NULL) AS uow,
            last.copy AS became,
            IF(last.went IS NULL, NULL, {word("last.went", PLACES)}) AS place,
            IF(last.went IS NULL, NULL, last.at) AS since,
            IF(last.went = {DELAYED}, last.due_at, NULL) AS due_at,
            last.seq AS last_seq, IF(last.went = {CLAIMED}, got_at, NULL) AS got_at
        FROM stay
        """,  # noqa: S608  # constants
        told=told,
    )


def spent(column: str, place: int) -> str:
    """SQL that sums the time of a stay in a place, without the place it is in now."""
    return f"""CAST(sum(IF(went = {place} AND until IS NOT NULL,
        greatest(unix_micros(until) - unix_micros(at), 0), 0) + coalesce(c.{column}, 0))
        AS bigint) AS {column}"""


def with_parents(stays: DataFrame, told: DataFrame) -> DataFrame:
    """The stays, with the message that each was copied from, if it is a copy.

    One statement ends the parent and puts the copy, so both are on the same day. For
    an expired message only its last event tells the cause; its copy is a dead letter,
    too. ``parent_cause`` is the cause for which the parent became a dead letter.
    """
    return stays.sparkSession.sql(
        f"""
        WITH copies AS (
            SELECT copy, message_id AS id, queue_id, queue, {KIND} AS end, source
            FROM {{told}} WHERE copy IS NOT NULL
        ),
        parent AS (
            SELECT one.*, coalesce(one.source.cause,
                IF(coalesce(one.source.end, first.end) = 'expired', 'EXPIRED', NULL))
                AS cause
            FROM copies AS one LEFT JOIN copies AS first ON first.copy = one.id
        )
        SELECT stay.* EXCEPT (put_cause, parent_message_id, parent_queue_id,
                parent_queue, parent_end, parent_cause),
            coalesce(stay.put_cause, IF(parent.end = 'expired', 'EXPIRED', NULL))
                AS put_cause,
            coalesce(stay.parent_message_id, parent.id) AS parent_message_id,
            coalesce(stay.parent_queue_id, parent.queue_id) AS parent_queue_id,
            coalesce(stay.parent_queue, parent.queue) AS parent_queue,
            coalesce(stay.parent_end, parent.end) AS parent_end,
            coalesce(stay.parent_cause, parent.cause) AS parent_cause
        FROM {{stays}} AS stay LEFT JOIN parent
        ON parent.copy = stay.message_id
        """,  # noqa: S608  # constants
        stays=stays,
        told=told,
    )


class Tally(NamedTuple):
    """Sums over the lines of a day; the written tables are checked against them."""

    lines: int  # lines, without those for stays that were open before
    broken: int  # lines that do not continue the line before
    carried: int  # stays that were open before
    begun: int  # stays, including those whose beginning is not known
    ended: int  # stays that ended
    deliveries_ended: int
    again: int  # stays that follow another stay and have no beginning
    in_the_air: int  # first stays without a beginning, of messages put since the floor
    floor: int | None  # the lowest message id that was put


def tally(told: DataFrame, *, floor: int | None, from_s: float, to_s: float) -> Tally:
    """
    Args:
        told: the lines, from ``events.told``.
        floor: messages with a lower id may have been put before the archive began.
        from_s, to_s: the period (Unix time in seconds) in which no event is missing.
    """
    lost = "c IS NULL AND begins AND came IS NOT NULL AND settled"
    row = told.sparkSession.sql(
        f"""
        SELECT count_if(c IS NULL), count_if({BROKEN}), count_if(c IS NOT NULL),
            count_if(begins AND c IS NULL), count_if(went IS NULL),
            count_if(ends OR lost), count_if({lost} AND o > 1),
            count_if({lost} AND o = 1 AND message_id >= {floor if floor else "NULL"}),
            min(IF(kind = {KINDS["put"]}, message_id, NULL))
        FROM (SELECT *, unix_micros(at) BETWEEN {from_s * 1e6:.0f} AND {to_s * 1e6:.0f}
              AS settled FROM {{told}})
        """,  # noqa: S608  # numbers
        told=told,
    ).head()
    assert row
    return Tally(*row)


def check(
    found: Tally, entries: int, deliveries: int, lifelines: int, opened: int
) -> None:
    """Check a day's tables against its lines, and the lines against the journal.

    Args:
        found: the sums of the lines.
        entries: the number of entries that the day's events count, without links'.
        deliveries, lifelines, opened: the numbers of rows that were written.

    Raises:
        QualityBroken: the numbers differ; nothing may be published.
    """
    require_equal("every entry of every event is read", found.lines, entries)
    require_equal("every entry ends once", found.ended - found.again, found.ended)
    require_equal("no delivery is without a put", found.in_the_air, 0)
    ends = found.deliveries_ended
    require_equal("every delivery that ended is a row", deliveries, ends)
    require_equal("every stay that ended is a timeline", lifelines, found.ended)
    stays = found.carried + found.begun
    require_equal("every stay goes on or has ended", lifelines + opened, stays)
