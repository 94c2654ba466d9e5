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
from dashboards.reports.common_sql import broadcast_few

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LEAST = 5  # a value that fewer messages have is not tested
NAMES = 200  # the most properties of a queue whose presence is tested
SURE = 100  # odds against chance, to 1; results with smaller odds are not shown
CUT = "…"  # the end of a text that was cut for the archive
WELL = "ended = 'accepted'"
IS, BETWEEN, HAS, HAS_NOT = "is", "between", "is there", "is not there"
OF_PROPERTY = f"{PROPERTY.name}."

# Fields with texts: their names in filters, and their columns.
TEXTS = {
    "type": "subject", "content": "content_type", "group": "group_id",
    "producer": "producer", "reply-to": "reply_to", "priority": "priority",
    "durable": "durable",
}  # fmt: skip
# The outcomes of messages whose fields are known; accepted messages have no cluster.
OUTCOMES = f"""
    SELECT queue, cluster, properties, numbers, CAST(size AS double) AS size,
        subject, content_type, group_id, producer, reply_to,
        CAST(priority AS string) AS priority, CAST(durable AS string) AS durable
    FROM (
        SELECT queue, cluster, message_id
        FROM {{letter}} LEFT SEMI JOIN {{big}} USING (cluster, queue)
        UNION ALL
        SELECT queue, CAST(NULL AS string), message_id
        FROM {{lifelines}} LEFT SEMI JOIN {{big}} USING (queue) WHERE {WELL}
    )
    JOIN {{messages}} USING (message_id) WHERE priority IS NOT NULL
"""  # noqa: S608  # constants
TOTALS = f"""
    SELECT queue, cluster, count(*) AS n,
        sum(size(properties) + size(numbers) + 1) + {
    " + ".join(f"count(nullif({column}, ''))" for column in TEXTS.values())
} AS pairs
    FROM {{outcome}} GROUP BY queue, cluster
"""  # noqa: S608  # constants
# A row for each text that a message has.
SAID = f"""
    SELECT queue, cluster, '{OF_PROPERTY}' || name AS field, value
    FROM {{outcome}} LATERAL VIEW explode(properties) AS name, value
    UNION ALL
    SELECT queue, cluster, field, value FROM {{outcome}} LATERAL VIEW inline(array({
    ", ".join(
        f"struct('{name}' AS field, {column} AS value)"
        for name, column in TEXTS.items()
    )
})) AS field, value WHERE value <> ''
"""  # noqa: S608  # constants
# A row for each number that a message has.
COUNTED = f"""
    SELECT queue, cluster, '{OF_PROPERTY}' || name AS field, x
    FROM {{outcome}} LATERAL VIEW explode(numbers) AS name, x
    UNION ALL
    SELECT queue, cluster, 'size', size FROM {{outcome}}
"""  # noqa: S608  # constants
# How many dead letters have a value of a field. All values that fewer than ``LEAST``
# dead letters have are one row, without a value.
OF_DEAD = f"""
    SELECT queue, cluster, field, value, sum(n) AS n FROM (
        SELECT queue, cluster, field, IF(count(*) >= {LEAST}, value, NULL) AS value,
            count(*) AS n
        FROM ({SAID}) WHERE cluster IS NOT NULL GROUP BY queue, cluster, field, value
    )
    GROUP BY queue, cluster, field, value
"""  # noqa: S608  # constants
# How many accepted messages have a value of a field. All values that no row of
# ``OF_DEAD`` has are one row, without a value.
OF_WELL = f"""
    SELECT {{hint}} queue, CAST(NULL AS string) AS cluster, field, dead.value,
        count(*) AS n
    FROM (SELECT queue, field, value FROM ({SAID}) WHERE cluster IS NULL)
    LEFT JOIN (
        SELECT DISTINCT queue, field, value FROM {{dead}} WHERE value IS NOT NULL
    ) AS dead USING (queue, field, value)
    GROUP BY queue, field, dead.value
"""  # noqa: S608  # constants
# Numbers are divided into quarters; ranges are runs of adjacent quarters.
QUARTERS = f"""
    SELECT queue, field, cluster, quarter, sum(n) AS n, min(x) AS low, max(x) AS high
    FROM (
        SELECT *, CASE WHEN below < 0.25D * every THEN 1
            WHEN below < 0.5D * every THEN 2 WHEN below < 0.75D * every THEN 3
            ELSE 4 END AS quarter
        FROM (
            SELECT *, sum(n) OVER (PARTITION BY queue, field ORDER BY x)
                    - sum(n) OVER (PARTITION BY queue, field, x) AS below,
                sum(n) OVER (PARTITION BY queue, field) AS every
            FROM (
                SELECT queue, cluster, field, x, count(*) AS n
                FROM ({COUNTED}) WHERE x IS NOT NULL GROUP BY queue, cluster, field, x
            )
        )
        WHERE every >= {LEAST}
    )
    GROUP BY queue, field, cluster, quarter
"""  # noqa: S608  # constants


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
        FROM {{quarters}} JOIN (VALUES (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (2, 4),
            (3, 3), (3, 4), (4, 4)) AS run (first, last)
            ON quarter BETWEEN first AND last
        GROUP BY queue, field, first, last
    )
    GROUP BY queue, field, value
"""  # noqa: S608  # constants
PRESENT = """
    SELECT queue, cluster, field, sum(n) AS n FROM {said} GROUP BY queue, cluster, field
"""
# The most frequent properties of a queue.
NAMED = f"""
    SELECT queue, field FROM (
        SELECT queue, field,
            row_number() OVER (PARTITION BY queue ORDER BY sum(n) DESC, field) AS rank
        FROM present GROUP BY queue, field HAVING sum(n) >= {LEAST}
    )
    WHERE rank <= {NAMES}
"""  # noqa: S608  # constants
TOLD = f"""
    SELECT queue, cluster, field, '{IS}' AS how, value, n
    FROM {{said}} WHERE value IS NOT NULL
    UNION ALL
    SELECT queue, cluster, field, '{HAS}', '', n FROM present
    UNION ALL
    SELECT every.queue, every.cluster, every.field, '{HAS_NOT}', '',
        every.n - coalesce(present.n, 0)
    FROM (SELECT * FROM {{total}} JOIN named USING (queue)) AS every
    LEFT JOIN present ON present.queue = every.queue AND present.field = every.field
        AND present.cluster <=> every.cluster
    UNION ALL
    SELECT queue, cluster, field, '{BETWEEN}', value, sum(n)
    FROM {{quarters}} AS quarter JOIN ranges USING (queue, field)
    WHERE quarter.low >= ranges.low AND quarter.high <= ranges.high
    GROUP BY queue, cluster, field, value
"""  # noqa: S608  # constants
FAILED = f"""
    SELECT queue, cluster, field, how, value, n AS failed
    FROM {{told}} WHERE cluster IS NOT NULL AND n >= {LEAST}
"""  # noqa: S608  # constants


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
        SELECT failed.*, died.n AS {F}, coalesce(one.n, 0) AS {B}, well.n AS {S}
        FROM failed
        JOIN {{total}} AS died
          ON died.queue = failed.queue AND died.cluster = failed.cluster
        JOIN {{total}} AS well ON well.queue = failed.queue AND well.cluster IS NULL
        LEFT JOIN {{told}} AS one ON one.queue = failed.queue AND one.cluster IS NULL
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


def significant_fields(outcome: DataFrame, total: DataFrame) -> DataFrame:
    """The fields that distinguish dead letters of a cluster from accepted messages.

    Args:
        outcome: rows of ``OUTCOMES``.
        total: rows of ``TOTALS``.

    Returns:
        For each cluster and queue the most significant fields, by ``rank`` from 1.
    """
    session = outcome.sparkSession
    dead = session.sql(OF_DEAD, outcome=outcome).localCheckpoint()
    hint = broadcast_few("dead", dead)
    well = session.sql(OF_WELL.replace("{hint}", hint), outcome=outcome, dead=dead)
    said = session.sql(
        "SELECT * FROM {dead} UNION ALL SELECT * FROM {well}", dead=dead, well=well
    ).localCheckpoint()
    quarters = session.sql(QUARTERS, outcome=outcome).localCheckpoint()
    told = session.sql(
        f"WITH present AS ({PRESENT}), named AS ({NAMED}), ranges AS ({RANGES}) {TOLD}",
        said=said,
        quarters=quarters,
        total=total,
    ).localCheckpoint()  # computed once and kept: few rows
    return session.sql(
        f"WITH failed AS ({FAILED}), asked AS ({ASKED}), tested AS ({TESTED}) {CHOSEN}",
        told=told,
        total=total,
    )
