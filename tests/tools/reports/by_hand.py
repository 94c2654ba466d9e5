"""What reports should say, by SQL over the journal; silver is not asked."""

from __future__ import annotations

# Stays and delivery attempts, as the journal tells them. 4, 7 and 9 are failures.
TABLES = """
CREATE TEMP TABLE told AS
SELECT e.seq, e.at, e.kind, e.actor, q.name AS queue, e.queue_id, u.id, e.came_from,
    e.went_to,
    e.detail ->> 'error' AS error, e.detail ->> 'cause' AS cause,
    (e.detail ->> 'repaired')::boolean AS repaired,
    (e.detail -> 'copies' ->> (u.n - 1)::int)::bigint AS copy,
    (e.detail -> 'due_at' ->> (u.n - 1)::int)::timestamptz AS due_at,
    count(*) FILTER (WHERE e.came_from IS NULL)
        OVER (PARTITION BY e.queue_id, u.id ORDER BY e.at, e.seq) AS nth
FROM broker_event e JOIN broker_queue q ON q.id = e.queue_id,
    unnest(e.ids) WITH ORDINALITY AS u (id, n)
WHERE e.kind <> 19;  -- what links tell moves nothing
ANALYZE told;

CREATE TEMP TABLE attempt AS
SELECT *, (at AT TIME ZONE 'UTC')::date AS day FROM (
    SELECT *, kind IN (4, 7, 9) AS failed, max(at) FILTER (WHERE kind = 2) OVER before
            AS got_at,
        (array_agg(actor) FILTER (WHERE kind = 2) OVER before)[
            count(*) FILTER (WHERE kind = 2) OVER before] AS taker
    FROM told
    WINDOW before AS (PARTITION BY queue_id, id, nth ORDER BY at, seq)) AS one
WHERE came_from = 2 AND went_to IS DISTINCT FROM 2;

CREATE TEMP TABLE stay AS
SELECT queue, queue_id, id, min(at) AS put_at,
    (array_agg(kind ORDER BY at, seq))[1] = 1 AS was_put,
    count(*) FILTER (WHERE kind IN (4, 7, 9) AND came_from = 2) AS failed,
    count(*) FILTER (WHERE came_from = 2 AND went_to IS DISTINCT FROM 2) AS deliveries,
    coalesce(bool_or(repaired) FILTER (WHERE kind = 1), false) AS repaired,
    max(at) FILTER (WHERE went_to IS NULL) AS ended_at,
    max(kind) FILTER (WHERE went_to IS NULL) AS ended,
    max(cause) FILTER (WHERE went_to IS NULL) AS cause,
    max(error) FILTER (WHERE went_to IS NULL) AS error,
    max(copy) AS became,
    (max(at) FILTER (WHERE went_to IS NULL) AT TIME ZONE 'UTC')::date AS day
FROM told GROUP BY queue, queue_id, id, nth;
ANALYZE stay;

CREATE TEMP TABLE letter AS
SELECT stay.*, died.queue AS origin,
    CASE WHEN died.ended = 8 THEN 'EXPIRED' ELSE died.cause END AS of
FROM stay JOIN stay AS died ON died.became = stay.id AND died.ended IN (7, 8);
ANALYZE letter;

CREATE TEMP TABLE back AS
SELECT stay.*, letter.of FROM stay
JOIN letter ON letter.became = stay.id AND letter.ended = 10;

CREATE TEMP TABLE days AS
SELECT DISTINCT (at AT TIME ZONE 'UTC')::date AS day,
    (date_trunc('day', at, 'UTC') + interval '1 day') AS over FROM broker_event
"""
WORDS = """CASE ended WHEN 3 THEN 'accepted' WHEN 7 THEN 'dead-lettered'
    WHEN 8 THEN 'expired' WHEN 10 THEN 'resubmitted' WHEN 14 THEN 'taken back'
    WHEN 16 THEN 'moved' WHEN 18 THEN 'removed' END"""


def lasted(begin: str, end: str) -> str:
    return f"extract(epoch FROM {end} - {begin})"


def within(share: float, what: str) -> str:
    return f"percentile_cont({share}) WITHIN GROUP (ORDER BY {what})"


TAKEN = lasted("put_at", "ended_at")
THROUGHPUT = """
SELECT (at AT TIME ZONE 'UTC')::date, date_trunc('minute', at), queue,
    count(*) FILTER (WHERE kind = 1), count(*) FILTER (WHERE kind = 2),
    count(*) FILTER (WHERE kind = 3), count(*) FILTER (WHERE kind = 4),
    count(*) FILTER (WHERE kind = 7)
FROM told WHERE kind IN (1, 2, 3, 4, 7) GROUP BY 1, 2, 3
"""
DEAD_LETTERS = """
SELECT day, queue, cause, count(*), max(ended_at) FROM stay WHERE ended = 7
GROUP BY 1, 2, 3
"""
REDELIVERY = f"""
WITH tried AS (
    SELECT day, queue, count(*) AS n, count(*) FILTER (WHERE failed) AS failed,
        sum({lasted("got_at", "at")}) FILTER (WHERE failed) AS held,
        sum({lasted("at", "due_at")}) FILTER (WHERE failed) AS delayed
    FROM attempt GROUP BY 1, 2),
entries AS (
    SELECT day, queue, count(*) AS n, count(*) FILTER (WHERE ended = 3) AS rescued,
        count(*) FILTER (WHERE ended = 3 AND failed = 1) AS one,
        count(*) FILTER (WHERE ended = 3 AND failed = 2) AS two,
        count(*) FILTER (WHERE ended = 3 AND failed = 3) AS three,
        count(*) FILTER (WHERE ended = 3 AND failed > 3) AS more,
        count(*) FILTER (WHERE ended = 7) AS died,
        count(*) FILTER (WHERE ended NOT IN (3, 7)) AS otherwise
    FROM stay WHERE failed > 0 AND day IS NOT NULL GROUP BY 1, 2)
SELECT day, queue, coalesce(t.n, 0), coalesce(t.failed, 0), coalesce(held, 0),
    coalesce(delayed, 0), coalesce(e.n, 0), coalesce(rescued, 0), coalesce(one, 0),
    coalesce(two, 0), coalesce(three, 0), coalesce(more, 0), coalesce(died, 0),
    coalesce(otherwise, 0), rescued::float / e.n
FROM tried t FULL JOIN entries e USING (day, queue)
"""
RESCUES = """
SELECT day, queue, least(failed, 10), count(*), count(*) FILTER (WHERE ended = 3),
    count(*) FILTER (WHERE ended = 7), avg((ended = 3)::int)::float
FROM stay WHERE failed > 0 AND day IS NOT NULL GROUP BY 1, 2, 3
"""
TIME_TO_DEAD_LETTER = f"""
SELECT day, queue, cause, count(*), {within(0.5, TAKEN)}, {within(0.9, TAKEN)},
    {within(0.99, TAKEN)}, max({TAKEN}), avg(deliveries)
FROM stay WHERE ended = 7 GROUP BY 1, 2, 3
"""
HOUR = "extract(hour FROM ended_at AT TIME ZONE 'UTC')"
TIME_TO_CLEAR = f"""
SELECT day, origin, {WORDS}, count(*), {within(0.5, TAKEN)}, {within(0.9, TAKEN)},
    max({TAKEN}), mode() WITHIN GROUP (ORDER BY {HOUR})
FROM letter WHERE ended IS NOT NULL GROUP BY 1, 2, ended
"""
RESUBMITS = """
SELECT * FROM (
    SELECT days.day, queue, of, CASE WHEN repaired THEN 'edited' ELSE 'as it was' END,
        count(*) FILTER (WHERE put_at >= over - interval '1 day') AS begun,
        count(*) FILTER (WHERE back.day = days.day AND ended = 3) AS accepted,
        count(*) FILTER (WHERE back.day = days.day AND ended = 7) AS died,
        count(*) FILTER (WHERE back.day = days.day AND ended NOT IN (3, 7)) AS other,
        count(*) FILTER (WHERE coalesce(back.day > days.day, true)) AS open,
        avg((ended = 3)::int) FILTER (WHERE back.day = days.day)::float AS share
    FROM days JOIN back ON put_at < over GROUP BY 1, 2, 3, 4
) AS found WHERE begun + accepted + died + other + open > 0
"""
DEBT = f"""
SELECT * FROM (
    SELECT days.day, origin, of,
        count(*) FILTER (WHERE coalesce(ended_at >= over, true)) AS open,
        count(*) FILTER (WHERE put_at >= over - interval '1 day') AS arrived,
        count(*) FILTER (WHERE letter.day = days.day) AS cleared,
        count(*) FILTER (WHERE put_at >= over - interval '1 day')
            - count(*) FILTER (WHERE letter.day = days.day) AS net,
        max({lasted("put_at", "over")}) FILTER (
            WHERE coalesce(ended_at >= over, true)) AS oldest
    FROM days JOIN letter ON put_at < over GROUP BY 1, 2, 3
) AS found WHERE open + arrived + cleared > 0
"""
CHANGE = "(b.open - a.open)::float / (b.day - a.day)"
DEBT_FORECAST = f"""
WITH debt AS (
    SELECT days.day, origin,
        count(*) FILTER (WHERE put_at < over AND coalesce(ended_at >= over, true))
            AS open
    FROM days CROSS JOIN letter GROUP BY 1, 2),
trend AS (
    SELECT a.origin, {within(0.5, CHANGE)} AS change, {within(0.25, CHANGE)} AS low,
        {within(0.75, CHANGE)} AS high
    FROM debt a JOIN debt b ON a.origin = b.origin AND a.day < b.day GROUP BY 1)
SELECT origin, day, open, change, greatest(0, open + 7 * change),
    greatest(0, open + 7 * low), greatest(0, open + 7 * high),
    CASE WHEN change < 0 AND open > 0 THEN day + ceil(open / -change)::int END
FROM debt JOIN trend USING (origin) WHERE day = (SELECT max(day) FROM days)
"""
# Of the last hours up to a moment: what, queue, cause or how, how many, and before.
HANDOVER = """
WITH period AS (SELECT %(as_of)s - interval '12 hours' AS since,
    %(as_of)s - interval '24 hours' AS before),
part AS (
    SELECT 'arrived' AS what, queue, NULL AS why, put_at AS at FROM stay
    WHERE was_put AND NOT EXISTS (SELECT FROM letter WHERE letter.id = stay.id)
    UNION ALL SELECT 'dead-lettered', queue, cause, ended_at FROM stay WHERE ended = 7
    UNION ALL SELECT 'cleared', origin, {words}, ended_at FROM letter WHERE ended > 0
)
SELECT what, queue, why, count(*) FILTER (WHERE at > since),
    count(*) FILTER (WHERE at <= since) FROM part, period
WHERE at > before GROUP BY 1, 2, 3
UNION ALL
SELECT 'open dead letters', origin, of, count(*) FILTER (WHERE ended IS NULL),
    count(*) FILTER (WHERE put_at <= since AND coalesce(ended_at > since, true))
FROM letter, period WHERE coalesce(ended_at > since, true) GROUP BY 1, 2, 3
UNION ALL
SELECT * FROM (
    SELECT 'waiting', queue, NULL, count(*) FILTER (WHERE ended IS NULL) AS now,
        count(*) FILTER (WHERE put_at <= since AND coalesce(ended_at > since, true))
            AS n
    FROM stay, period WHERE NOT EXISTS (SELECT FROM letter WHERE letter.id = stay.id)
    GROUP BY 1, 2) AS grown WHERE now > n
""".replace("{words}", WORDS)
CAUSES = """
SELECT queue, coalesce(error, ''), count(*), min(ended_at), max(ended_at)
FROM stay WHERE ended = 7 GROUP BY 1, 2
"""
ARRIVED = "FILTER (WHERE outcome IN ('TRANSFERRED', 'BRANCHED'))"
BRIDGE_TRANSFERS = f"""
SELECT day, link, queue, transferred, branched, transformed, not_transferred, expired,
    transformer + send + acknowledge + committed, transformer, send, acknowledge,
    committed, duplicates, looped, p50, p99
FROM (
    SELECT day, link, queue, count(*) FILTER (WHERE outcome = 'TRANSFERRED')
            AS transferred,
        count(*) FILTER (WHERE outcome = 'BRANCHED') AS branched,
        count(*) FILTER (WHERE transformed) AS transformed,
        count(*) FILTER (WHERE outcome = 'NOT_TRANSFERRED') AS not_transferred,
        count(*) FILTER (WHERE outcome = 'MESSAGE_EXPIRED') AS expired,
        count(*) FILTER (WHERE outcome = 'TRANSFORMER_FAILURE') AS transformer,
        count(*) FILTER (WHERE outcome = 'SEND_FAILURE') AS send,
        count(*) FILTER (WHERE outcome = 'ACK_FAILURE') AS acknowledge,
        count(*) FILTER (WHERE outcome = 'COMMIT_FAILURE') AS committed,
        count(*) FILTER (WHERE outcome = 'DUPLICATE') AS duplicates,
        count(*) FILTER (WHERE outcome = 'LOOPED') AS looped,
        {within(0.5, "latency")} {ARRIVED} AS p50,
        {within(0.99, "latency")} {ARRIVED} AS p99
    FROM (
        SELECT (e.at AT TIME ZONE 'UTC')::date AS day, q.name AS queue,
            e.detail ->> 'link' AS link, e.detail -> 'outcomes' ->> place AS outcome,
            (e.detail -> 'transformed' ->> place)::boolean AS transformed,
            (e.detail -> 'latencies_ms' ->> place)::bigint AS latency
        FROM broker_event e JOIN broker_queue q ON q.id = e.queue_id,
            generate_series(0, e.n - 1) AS place
        WHERE e.kind = 19 AND (e.detail ->> 'counted')::boolean) AS one
    GROUP BY day, link, queue) AS found
"""
HELD = lasted("got_at", "at")
HANDLERS = f"""
SELECT day, queue, coalesce(nullif(taker, ''), '(no name)'), count(*),
    count(*) FILTER (WHERE kind = 3), count(*) FILTER (WHERE failed),
    count(*) FILTER (WHERE kind <> 3 AND NOT failed), avg(failed::int)::float,
    {within(0.5, HELD)} FILTER (WHERE kind = 3),
    {within(0.95, HELD)} FILTER (WHERE kind = 3)
FROM attempt GROUP BY 1, 2, 3
"""
EXPIRY = f"""
SELECT day, date_trunc('hour', ended_at), queue, count(*),
    count(*) FILTER (WHERE deliveries > 0), count(became), {within(0.5, TAKEN)},
    {within(0.95, TAKEN)}
FROM stay WHERE ended = 8 GROUP BY 1, 2, 3
"""
BY_HAND = {
    "handlers": HANDLERS,
    "expiry": EXPIRY,
    "throughput": THROUGHPUT,
    "dead-letters": DEAD_LETTERS,
    "redelivery": REDELIVERY,
    "rescues": RESCUES,
    "time-to-dead-letter": TIME_TO_DEAD_LETTER,
    "time-to-clear": TIME_TO_CLEAR,
    "resubmits": RESUBMITS,
    "debt": DEBT,
    "debt-forecast": DEBT_FORECAST,
    "bridge-transfers": BRIDGE_TRANSFERS,
}
