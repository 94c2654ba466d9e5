"""Fields that dead letters have more often than accepted messages, beyond chance.

For each value of a field this is tested: how likely is it that so many dead letters
have the value, if the value has nothing to do with the failure (Fisher's exact test,
one-sided)? Hoeffding's inequality bounds that probability from above. It also holds for
draws without replacement: the probability that a share x or more of n draws is marked,
where p is expected, is at most exp(-n D(x, p)). The table can be read as four such
draws; each bounds the same tail, and the smallest bound is used. It is multiplied by
the largest number of tests that there can be (Bonferroni correction). Values that fewer
than five messages have are not tested. So a field that n messages have gives at most
3 n / 5 tests of values and of presence. Its ranges of numbers give at most n tests,
because each number is in at most five of the nine ranges. In total there are no more
tests than fields of all messages.

Source:
    W. Hoeffding, Probability Inequalities for Sums of Bounded Random Variables (1963),
    theorems 1 and 4, and section 6 on sampling without replacement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.formats.filters import PROPERTY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LEAST = 5  # messages that must have a value, or the value is not tested
NAMES = 200  # properties of a queue whose presence is tested
SURE = 100  # odds against chance, to 1; results with smaller odds are not shown
CUT = "…"  # the end of a text that was cut for the archive
WELL = "ended = 'accepted'"
IS, BETWEEN, HAS, HAS_NOT = "is", "between", "is there", "is not there"
OF_PROPERTY = f"{PROPERTY.name}."

# The outcomes of messages whose fields are known; cluster is null if accepted.
OUTCOMES = f"""
    SELECT queue, cluster,
        map_concat(
            transform_keys(properties, (name, _) -> '{OF_PROPERTY}' || name),
            map_filter(map('type', subject, 'content', content_type,
                'group', group_id, 'producer', producer, 'reply-to', reply_to,
                'priority', CAST(priority AS string),
                'durable', CAST(durable AS string)), (_, value) -> value <> '')
        ) AS said,
        map_concat(
            transform_keys(numbers, (name, _) -> '{OF_PROPERTY}' || name),
            map('size', CAST(size AS double))) AS counted
    FROM (
        SELECT queue, cluster, message_id
        FROM {{letter}} LEFT SEMI JOIN {{big}} USING (cluster, queue)
        UNION ALL
        SELECT queue, CAST(NULL AS string), message_id
        FROM {{lifelines}} LEFT SEMI JOIN {{big}} USING (queue) WHERE {WELL}
    )
    JOIN {{messages}} USING (message_id) WHERE priority IS NOT NULL
"""  # noqa: S608  # constants
TOTALS = """
    SELECT queue, cluster, count(*) AS n, sum(size(said) + size(counted)) AS pairs
    FROM {outcome} GROUP BY queue, cluster
"""
# The most frequent properties of a queue.
NAMED = f"""
    SELECT queue, collect_list(field) AS names FROM (
        SELECT queue, field,
            row_number() OVER (PARTITION BY queue ORDER BY count(*) DESC, field) AS rank
        FROM {{outcome}} LATERAL VIEW explode(map_keys(said)) AS field
        GROUP BY queue, field HAVING count(*) >= {LEAST}
    )
    WHERE rank <= {NAMES} GROUP BY queue
"""  # noqa: S608  # constants
# Numbers are divided into quarters; ranges are runs of adjacent quarters.
CUTS = ", ".join(
    f"percentile_disc({share}) WITHIN GROUP (ORDER BY x)" for share in (0.25, 0.5, 0.75)
)
QUARTERS = f"""
    SELECT queue, field, quarter, min(x) AS low, max(x) AS high FROM (
        SELECT queue, field, x, CASE WHEN x <= cuts[0] THEN 1 WHEN x <= cuts[1] THEN 2
            WHEN x <= cuts[2] THEN 3 ELSE 4 END AS quarter
        FROM numbered JOIN (
            SELECT queue, field, array({CUTS}) AS cuts
            FROM numbered GROUP BY queue, field HAVING count(*) >= {LEAST}
        ) USING (queue, field)
    )
    GROUP BY queue, field, quarter
"""  # noqa: S608  # constants
NUMBERED = """
    SELECT queue, cluster, field, x
    FROM {outcome} LATERAL VIEW explode(counted) AS field, x
"""


def figure(number: str) -> str:
    """SQL that writes a number as filters do: no exponent, no trailing zeros."""
    exact = f"CAST(try_cast({number} AS decimal(38, 9)) AS string)"
    return (
        rf"coalesce(regexp_replace({exact}, r'\.?0+$', ''), CAST({number} AS string))"
    )


RANGES = f"""
    SELECT queue, field, value, min(low) AS low, max(high) AS high FROM (
        SELECT queue, field, min(low) AS low, max(high) AS high,
            concat({figure("min(low)")}, '..', {figure("max(high)")}) AS value
        FROM quarters JOIN (VALUES (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (2, 4),
            (3, 3), (3, 4), (4, 4)) AS run (first, last)
            ON quarter BETWEEN first AND last
        GROUP BY queue, field, first, last
    )
    GROUP BY queue, field, value
"""  # noqa: S608  # constants
TOLD = f"""
    SELECT queue, cluster, field, '{IS}' AS how, value
    FROM {{outcome}} LATERAL VIEW explode(said) AS field, value
    UNION ALL
    SELECT queue, cluster, field, '{HAS}', ''
    FROM {{outcome}} LATERAL VIEW explode(map_keys(said)) AS field
    UNION ALL
    SELECT queue, cluster, field, '{HAS_NOT}', ''
    FROM (SELECT queue, cluster, explode(array_except(names, map_keys(said))) AS field
          FROM {{outcome}} JOIN named USING (queue))
    UNION ALL
    SELECT queue, cluster, field, '{BETWEEN}', value
    FROM numbered JOIN ranges USING (queue, field) WHERE x BETWEEN low AND high
"""  # noqa: S608  # constants
# Only values that several failed messages have are counted for accepted messages.
FAILED = f"""
    SELECT queue, cluster, field, how, value, count(*) AS failed
    FROM told WHERE cluster IS NOT NULL
    GROUP BY queue, cluster, field, how, value HAVING count(*) >= {LEAST}
"""  # noqa: S608  # constants
SUCCEEDED = """
    SELECT queue, field, how, value, count(*) AS succeeded
    FROM told LEFT SEMI JOIN failed USING (queue, field, how, value)
    WHERE cluster IS NULL GROUP BY queue, field, how, value
"""


def surprise(part: str, whole: str, marked: str, every: str) -> str:
    """SQL for n D(x, p): ``part`` of ``whole`` draws are marked; in the population
    ``marked`` of ``every`` are."""

    def of(some: str, expected: str) -> str:
        share = f"(({some}) * 1D * ({every}) / (1D * ({whole}) * ({expected})))"
        return f"IF(({some}) = 0, 0D, ({some}) * ln({share}))"

    return f"""{of(part, marked)}
        + {of(f"({whole}) - ({part})", f"({every}) - ({marked})")}"""


A, F, B, S = "failed", "failed_all", "succeeded", "succeeded_all"
SURPRISE = f"""greatest(
    {surprise(A, F, f"{A} + {B}", f"{F} + {S}")},
    {surprise(B, S, f"{A} + {B}", f"{F} + {S}")},
    {surprise(A, f"{A} + {B}", F, f"{F} + {S}")},
    {surprise(f"{F} - {A}", f"{F} - {A} + {S} - {B}", F, f"{F} + {S}")})"""
# An upper bound for the number of tests; see the head of this module.
ASKED = """
    SELECT greatest(1, sum(died.pairs + coalesce(well.pairs, 0))) AS n
    FROM {total} AS died
    LEFT JOIN {total} AS well ON well.queue = died.queue AND well.cluster IS NULL
    WHERE died.cluster IS NOT NULL
"""
TESTED = f"""
    SELECT cluster, queue, field, how, value, {A}, {F}, {B}, {S},
        {SURPRISE} - ln(asked.n) AS sure
    FROM (
        SELECT failed.*, died.n AS {F}, coalesce(succeeded, 0) AS {B}, well.n AS {S}
        FROM failed
        JOIN {{total}} AS died
          ON died.queue = failed.queue AND died.cluster = failed.cluster
        JOIN {{total}} AS well ON well.queue = failed.queue AND well.cluster IS NULL
        LEFT JOIN succeeded AS one ON one.queue = failed.queue
          AND one.field = failed.field AND one.how = failed.how
          AND one.value = failed.value
    )
    CROSS JOIN asked
    WHERE 5 * {A} >= {F} AND 2 * {B} <= {S} AND 2 * {A} * {S} >= 3 * {B} * {F}
"""  # noqa: S608  # constants
# The most significant values of a field; only one if values may overlap.
CHOSEN = f"""
    SELECT *, row_number() OVER (
        PARTITION BY cluster, queue ORDER BY sure DESC, field, value) AS rank
    FROM (
        SELECT *, row_number() OVER field AS of_field, first(how) OVER field AS best
        FROM tested WHERE sure >= ln({SURE})
        WINDOW field AS (PARTITION BY cluster, queue, field
            ORDER BY sure DESC, how = '{IS}' DESC, how, value)
    )
    WHERE of_field = 1 OR how = '{IS}' AND best = '{IS}'
"""  # noqa: S608  # constants


def told_apart(outcome: DataFrame, total: DataFrame) -> DataFrame:
    """The fields that distinguish dead letters of a cluster from accepted messages.

    Args:
        outcome: rows of ``OUTCOMES``.
        total: rows of ``TOTALS``.

    Returns:
        For each cluster and queue the most significant fields, by ``rank`` from 1.
    """
    return outcome.sparkSession.sql(
        f"""
        WITH named AS ({NAMED}), numbered AS ({NUMBERED}), quarters AS ({QUARTERS}),
        ranges AS ({RANGES}), told AS ({TOLD}), failed AS ({FAILED}),
        succeeded AS ({SUCCEEDED}), asked AS ({ASKED}), tested AS ({TESTED})
        {CHOSEN}
        """,
        outcome=outcome,
        total=total,
    )
