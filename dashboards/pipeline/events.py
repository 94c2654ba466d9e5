"""Lines: the journal with one row for each entry and event.

An entry is a message on a queue. A stay is the time from its arrival there
(``came_from`` is null) until it leaves (``went_to`` is null); an entry can have several
stays, one after the other. The lines of an entry have the order of its timeline
(``broker.queueing.journal``): by time, then by ``seq``, which is ordered within one
connection only. The time of an event is the start of its statement, so two events that
follow closely may be in the wrong order. Then each line is moved behind a line whose
``went_to`` equals its ``came_from``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

EVENTS = """
    seq bigint, xid bigint, at timestamp, kind smallint, queue_id int, queue string,
    came_from smallint, went_to smallint, uow bigint, actor string, n int,
    ids array<bigint>, detail string, fingerprint string
"""
STAY = """
    message_id bigint, queue_id int, queue string, stay bigint, began string,
    put_at timestamp, first_got_at timestamp, deliveries int, failed int,
    waited_us bigint, delayed_us bigint, held_us bigint, cause string, error string,
    fingerprint string, put_cause string, put_fingerprint string,
    parent_message_id bigint, parent_queue_id int, parent_queue string,
    parent_end string, parent_cause string, repaired boolean
"""
OPEN = f"""{STAY}, place string, since timestamp, due_at timestamp, last_seq bigint,
    got_at timestamp, handler string, uow bigint
"""

# Copies of broker.models.Kind and Place, which need Django; a test compares them.
KINDS = {
    "put": 1, "got": 2, "accepted": 3, "backed out": 4, "released": 5, "due again": 6,
    "dead-lettered": 7, "expired": 8, "discarded": 9, "resubmitted": 10, "restored": 11,
    "skipped a backout": 12, "counted anew": 13, "taken back": 14, "reinstated": 15,
    "moved": 16, "given another priority": 17, "removed": 18,
    "carried by a link": 19,
}  # fmt: skip
PLACES = {"ready": 1, "claimed": 2, "delayed": 3}
READY, CLAIMED, DELAYED = PLACES.values()
PUT, GOT, BACKED_OUT = KINDS["put"], KINDS["got"], KINDS["backed out"]
DEAD, DISCARDED = KINDS["dead-lettered"], KINDS["discarded"]
EXPIRED = KINDS["expired"]
# these events move no entry; see link_transfers.py
CARRIED = KINDS["carried by a link"]
FAILED = f"({BACKED_OUT}, {DEAD}, {DISCARDED})"  # kinds that end a failed delivery
# characters; the journal and the message's page have the whole error
LONGEST_ERROR = 200

TOLD = """
    error string, cause string, copies array<bigint>, due_at array<string>,
    operation bigint, repaired boolean
"""
WORDS = "CASE {column} {cases} ELSE 'unknown' END"


def word(column: str, words: dict[str, int]) -> str:
    """SQL that translates the number in a column to its word."""
    cases = " ".join(f"WHEN {number} THEN '{word}'" for word, number in words.items())
    return WORDS.format(column=column, cases=cases)


def lines(events: DataFrame, before: DataFrame) -> DataFrame:
    """The lines of a day.

    Args:
        events: the events of that day, as ``EVENTS``; those of links are left out.
        before: the stays that were open at the end of the day before, as ``OPEN``.
            Each becomes the first line of its entry, with its columns in ``c``.
    """
    return events.sparkSession.sql(
        f"""
        SELECT queue_id, message_id, coalesce(queue, concat('deleted queue ', queue_id))
                AS queue,
            at, seq, kind, came_from AS came, went_to AS went, uow, actor,
            left(told.error, {LONGEST_ERROR}) AS error, fingerprint,
            coalesce(told.cause, IF(kind = {EXPIRED}, 'EXPIRED', NULL)) AS cause,
            get(told.copies, place) AS copy,
            try_cast(get(told.due_at, place) AS timestamp) AS due_at,
            told.operation AS operation, told.repaired AS repaired,
            CAST(NULL AS struct<{OPEN}>) AS c
        FROM (SELECT *, from_json(detail, '{" ".join(TOLD.split())}') AS told
              FROM {{events}} WHERE kind <> {CARRIED})
        LATERAL VIEW posexplode(ids) AS place, message_id
        UNION ALL
        SELECT queue_id, message_id, queue, since, last_seq, 0S, CAST(NULL AS smallint),
            CAST({number("place")} AS smallint), uow, handler, NULL, NULL, NULL,
            CAST(NULL AS bigint), due_at, CAST(NULL AS bigint), CAST(NULL AS boolean),
            struct(*) AS c
        FROM {{before}}
        """,  # noqa: S608  # constants
        events=events,
        before=before,
    )


def number(column: str) -> str:
    cases = " ".join(f"WHEN '{word}' THEN {place}" for word, place in PLACES.items())
    return f"CASE {column} {cases} END"


def ordered(lines: DataFrame) -> DataFrame:
    """The lines, numbered within their entry (``o``), with the place at which the line
    before left the entry (``before``)."""
    return lines.sparkSession.sql(
        """
        SELECT *, row_number() OVER entry AS o, lag(went) OVER entry AS before
        FROM {lines}
        WINDOW entry AS (PARTITION BY queue_id, message_id ORDER BY c IS NULL, at, seq)
        """,
        lines=lines,
    )


BROKEN = "o > 1 AND NOT (came <=> before)"  # the line does not continue the line before


NEXT = """CAST(greatest(1, array_position(
    transform(s.rest, one -> coalesce(one.came, 0S)), coalesce(s.place, 0S))) AS int)"""


def chained(ordered: DataFrame) -> DataFrame:
    """The lines; entries with broken lines are sorted again: next is always the
    earliest line that starts where the entry is, or the earliest of all if none does.
    """
    return ordered.sparkSession.sql(
        f"""
        WITH broken AS (
            SELECT queue_id, message_id,
                array_sort(collect_list(struct(o, came, went))) AS story
            FROM {{ordered}} GROUP BY ALL HAVING bool_or({BROKEN})
        ),
        again AS (
            SELECT queue_id, message_id, posexplode(aggregate(
                story,
                struct(CAST(NULL AS smallint) AS place, story AS rest,
                    CAST(array() AS array<int>) AS done),
                (s, _) -> struct(
                    element_at(s.rest, {NEXT}).went,
                    concat(slice(s.rest, 1, {NEXT} - 1),
                        slice(s.rest, {NEXT} + 1, size(s.rest))),
                    array_append(s.done, element_at(s.rest, {NEXT}).o)),
                s -> s.done
            )) AS (place, o)
            FROM broken
        ),
        renumbered AS (
            SELECT line.* EXCEPT (o, before), coalesce(again.place + 1, line.o) AS o
            FROM {{ordered}} AS line LEFT JOIN again
              ON line.queue_id = again.queue_id AND line.message_id = again.message_id
              AND line.o = again.o
        )
        SELECT *, lag(went) OVER entry AS before FROM renumbered
        WINDOW entry AS (PARTITION BY queue_id, message_id ORDER BY o)
        """,  # noqa: S608  # constants
        ordered=ordered,
    )


# A delivery that ended after its unit of work was deleted; it has no get event.
UNSEEN = f"""(came = {READY} AND operation IS NULL AND (kind IN ({BACKED_OUT}, {DEAD})
    OR kind = {DISCARDED} AND cause IS NOT NULL))"""


def told(ordered: DataFrame) -> DataFrame:
    """The lines with their stays and deliveries; silver is built from them.

    nth        the number of the stay in the day, from 1 for each entry
    stay       the seq of the first line of the stay, perhaps on an earlier day
    source     where the message came from, by the first line of the entry; it holds
               for all stays of the entry
    begins     whether the line is the first of its stay
    delivery   the number of the newest delivery of the stay, from 1; 0 before any
    starts, ends   whether that delivery starts or ends with this line
    lost       whether the journal has no end of that delivery; it then ends at
               ``until``
    until      the time of the next line of the stay
    """
    return ordered.sparkSession.sql(
        f"""
        WITH marked AS (
            SELECT *, came IS NULL OR before IS NULL AS begins,
                kind = {GOT} OR {UNSEEN} OR came = {CLAIMED} AND NOT (before <=> came)
                    AS starts_here,
                came = {CLAIMED} AND NOT (went <=> came) OR {UNSEEN} AS ends_here
            FROM {{ordered}}
        ),
        stays AS (
            SELECT * EXCEPT (starts_here, ends_here),
                coalesce(starts_here, false) AS starts,
                coalesce(ends_here, false) AS ends,
                sum(CAST(begins AS int)) OVER entry AS nth,
                first(struct(
                    coalesce(c.put_cause, IF(kind = {PUT}, cause, NULL)) AS cause,
                    coalesce(c.put_fingerprint, IF(kind = {PUT}, fingerprint, NULL))
                        AS fingerprint,
                    coalesce(c.repaired, IF(kind = {PUT}, repaired, NULL)) AS repaired,
                    c.parent_message_id AS id, c.parent_queue_id AS queue_id,
                    c.parent_queue AS queue, c.parent_end AS end,
                    c.parent_cause AS parent_cause)) OVER entry AS source
            FROM marked
            WINDOW entry AS (PARTITION BY queue_id, message_id ORDER BY o)
        )
        SELECT *, lead(at) OVER stay AS until,
            first(coalesce(c.stay, seq)) OVER stay AS stay,
            coalesce(went = {CLAIMED}, false) AND lead(o) OVER stay IS NOT NULL
                AND NOT (lead(came) OVER stay <=> went) AS lost,
            CAST(sum(CAST(starts AS int) + coalesce(c.deliveries, 0)) OVER stay AS int)
                AS delivery
        FROM stays
        WINDOW stay AS (PARTITION BY queue_id, message_id, nth ORDER BY o)
        """,  # noqa: S608  # constants
        ordered=ordered,
    )
