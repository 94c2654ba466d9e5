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
    """The lines of some days, one after the other.

    Args:
        events: the events of these days, as ``EVENTS``; those of links are left out.
        before: the stays that were open before the first day, as ``OPEN``. Each
            becomes the first line of its entry, with its columns in ``c``, no ``day``.
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
            CAST(NULL AS struct<{OPEN}>) AS c, CAST(at AS date) AS day, 1 AS turn
        FROM (SELECT *, from_json(detail, '{" ".join(TOLD.split())}') AS told
              FROM {{events}} WHERE kind <> {CARRIED})
        LATERAL VIEW posexplode(ids) AS place, message_id
        UNION ALL
        SELECT queue_id, message_id, queue, since, last_seq, 0S, CAST(NULL AS smallint),
            CAST({number("place")} AS smallint), uow, handler, NULL, NULL, NULL,
            CAST(NULL AS bigint), due_at, CAST(NULL AS bigint), CAST(NULL AS boolean),
            struct(*) AS c, CAST(NULL AS date), 0
        FROM {{before}}
        """,  # noqa: S608  # constants
        events=events,
        before=before,
    )


def number(column: str) -> str:
    cases = " ".join(f"WHEN '{word}' THEN {place}" for word, place in PLACES.items())
    return f"CASE {column} {cases} END"


def ordered(lines: DataFrame) -> DataFrame:
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
        """,  # noqa: S608  # constants
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
NEXT = """IF(s.place IS NULL AND NOT s.rest[0].unordered, 1,
    CAST(greatest(1, array_position(transform(s.rest, one ->
        IF(one.day <=> s.rest[0].day, coalesce(one.came, 0S), -1S)),
    coalesce(s.place, 0S))) AS int))"""


def chained(broken: DataFrame) -> DataFrame:
    """The lines of entries with broken lines, sorted again within each day: next is
    always the earliest line that starts where the entry is, or the earliest of all if
    none does. Days are not mixed, so that it does not matter which are built together.
    """
    moved = broken.sparkSession.sql(
        f"""
        WITH dated AS (
            SELECT *, coalesce(day, min(day) OVER (PARTITION BY queue_id, message_id))
                AS of_day
            FROM {{broken}}
        ),
        marked AS (
            SELECT *, bool_or(broken) OVER (PARTITION BY queue_id, message_id, of_day)
                AS day_unordered
            FROM dated
        ),
        story AS (
            SELECT queue_id, message_id, array_sort(collect_list(struct(
                o, came, went, of_day AS day, day_unordered AS unordered))) AS story
            FROM marked GROUP BY ALL
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
            FROM story
        )
        SELECT {LINE}, place AS turn
        FROM {{broken}} JOIN again USING (queue_id, message_id, o)
        """,  # noqa: S608  # constants
        broken=broken,
    )
    return ordered(moved)


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


def told(ordered: DataFrame) -> DataFrame:
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
        """,  # noqa: S608  # constants
        summed=summed,
    )


def marked(ordered: DataFrame) -> DataFrame:
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
        """,  # noqa: S608  # constants
        ordered=ordered,
    )


def with_sums(marked: DataFrame) -> DataFrame:
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
        """,  # noqa: S608  # constants
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
