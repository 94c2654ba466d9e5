"""Dead letters by what went wrong, with fingerprints merged whose errors are alike.

Reads    lifelines   of silver, of some days back
Writes   causes      one row for each cluster of fingerprints and queue they died on

A fingerprint is a group of errors that differ in numbers and names only. Here those are
merged that differ in a few words: two are alike where the words that both have are at
least seven in ten of the words that either has (Jaccard's index). Beginning with the
commonest fingerprint, each joins the first cluster whose first fingerprint it is like,
or begins one; so every member is like the first, and the same letters always give the
same clusters. Only pairs with a rare word in common are compared: two sets that are so
much alike have one among the rarest three in ten, and one more, of each.

A row is of one queue, so that it shows nobody the errors of queues they may not see.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING

from dashboards.reports import (
    Chart,
    Column,
    Inputs,
    Parameter,
    Rows,
    Values,
    report,
)
from dashboards.reports.declaration import AS_OF, DAYS
from dashboards.reports.letters import CAUSE, DEAD
from dashboards.reports.quality import require_equal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ALIKE = "0.7"  # as SQL has it: a decimal, so that seven of ten are seven
MOST = 2000  # fingerprints that are compared, the commonest first

# The first line of an error without what varies: quoted, in braces, with digits.
QUOTED = r"""'\'[^\']*\'|"[^"]*"|`[^`]*`'"""
BARE = rf"""regexp_replace(regexp_replace(split_part(coalesce(error, ''), '\n', 1),
    {QUOTED}, '…'), r'\S*\d\S*', '…')"""
DIED = f"""
    SELECT queue, coalesce(fingerprint, '') AS fingerprint, error, {CAUSE} AS cause,
        ended_at, message_id
    FROM {{lifelines}} WHERE {DEAD}
"""  # noqa: S608  # constants
# Fingerprints, the commonest first, each with the words of its first error.
WORDS = rf"""
    SELECT row_number() OVER (ORDER BY n DESC, fingerprint) AS rank, fingerprint,
        array_distinct(regexp_extract_all(lower(bare), r'\p{{{{L}}}}+', 0)) AS words
    FROM (
        SELECT fingerprint, count(*) AS n,
            min_by({BARE}, struct(ended_at, message_id, queue)) AS bare
        FROM {{died}} WHERE fingerprint <> '' GROUP BY fingerprint
    )
    ORDER BY rank LIMIT {MOST}
"""  # noqa: S608  # constants
# Of each the words, the rarest first, as many as one alike must have one of.
RARE = f"""
    SELECT rank, inline(slice(array_sort(collect_list(struct(n, word))), 1,
        CAST(count(*) - ceil({ALIKE} * count(*)) + 1 AS int)))
    FROM (SELECT rank, explode(words) AS word FROM {{worded}})
    JOIN (SELECT word, count(*) AS n FROM {{worded}} LATERAL VIEW explode(words) AS word
          GROUP BY word) USING (word)
    GROUP BY rank
"""  # noqa: S608  # constants
# Of each the commoner ones that are like it, the commonest first.
NEAR = f"""
    SELECT worded.rank, array_sort(collect_list(other.rank)) AS near
    FROM {{worded}} AS worded LEFT JOIN (
        SELECT DISTINCT one.rank, two.rank AS other
        FROM rare AS one JOIN rare AS two ON one.word = two.word AND two.rank < one.rank
    ) AS pair ON pair.rank = worded.rank
    LEFT JOIN {{worded}} AS other ON other.rank = pair.other
      AND size(array_intersect(worded.words, other.words))
        >= {ALIKE} * size(array_union(worded.words, other.words))
    GROUP BY worded.rank
"""  # noqa: S608  # constants
FIRST = "get(filter(one.near, near -> array_contains(s.firsts, near)), 0)"
CLUSTERS = f"""
    SELECT member.fingerprint, first.fingerprint AS cluster
    FROM (
        SELECT inline(aggregate(
            array_sort(collect_list(struct(rank, near))),
            struct(CAST(array() AS array<int>) AS firsts,
                CAST(array() AS array<struct<rank int, first int>>) AS told),
            (s, one) -> struct(
                IF({FIRST} IS NULL, array_append(s.firsts, one.rank), s.firsts),
                array_append(s.told, named_struct(
                    'rank', one.rank, 'first', coalesce({FIRST}, one.rank)))),
            s -> s.told))
        FROM near
    ) AS chosen
    JOIN {{worded}} AS member ON member.rank = chosen.rank
    JOIN {{worded}} AS first ON first.rank = chosen.first
"""  # noqa: S608  # constants
COLUMNS = (
    Column(
        "cluster",
        "Cluster",
        "fingerprint",
        note="The commonest fingerprint of all that are alike, on whatever queue.",
    ),
    Column("queue", "Queue", "queue", note="That they died on."),
    Column("label", "What went wrong", "text", note="Without what varies."),
    Column("error", "Example", "text", note="The last one on this queue."),
    Column(
        "fingerprint",
        "Fingerprint",
        "fingerprint",
        link="origin:{queue} fingerprint:{fingerprint}",
        note="The commonest of the cluster on this queue.",
    ),
    Column(
        "fingerprints",
        "Fingerprints",
        "count",
        note="Merged, on this queue.",
        adds_up=False,
    ),
    Column("causes", "Causes", "text"),
    Column(
        "queues",
        "Queues",
        "count",
        note="Where the cluster is found.",
        adds_up=False,
    ),
    Column("dead_letters", "Dead letters", "count", note="On this queue."),
    Column("first_at", "First", "moment", note="In the period."),
    Column("last_at", "Last", "moment"),
    Column("former", "Former half", "count", note="Of the period."),
    Column("latter", "Latter half", "count"),
    Column("change", "Change", "count", note="The latter half less the former."),
)


def check(inputs: Inputs, rows: Rows) -> None:
    died = inputs["lifelines"].where(DEAD).count()
    counted = sum(row["dead_letters"] for row in rows)
    require_equal("every dead letter is counted once", counted, died)
    halves = sum(row["former"] + row["latter"] for row in rows)
    require_equal("every dead letter is in one half", halves, died)


def middle(values: Values) -> datetime:
    """The moment that halves the period."""
    end: datetime = values[AS_OF]
    first = end.astimezone(UTC).date() - timedelta(days=values[DAYS] - 1)
    begin = datetime.combine(first, time(), UTC)
    return begin + (end - begin) / 2


@report(
    "causes",
    title="Causes of dead letters",
    question="What goes wrong most, whatever words it uses, and does it grow?",
    inputs=("lifelines",),
    parameters=(Parameter(DAYS, "count", 30, "Days", "Up to now.", least=1, most=400),),
    columns=COLUMNS,
    charts=(
        Chart("Dead letters by cluster", "bars", "cluster", "dead_letters", "queue"),
    ),
    check=check,
)
def build(inputs: Inputs, values: Values) -> DataFrame:
    spark = inputs["lifelines"].sparkSession
    died = spark.sql(DIED, lifelines=inputs["lifelines"])
    worded = spark.sql(WORDS, died=died).localCheckpoint()  # few, and read often
    return spark.sql(
        f"""
        WITH rare AS ({RARE}), near AS ({NEAR}), clustered AS ({CLUSTERS}),
        letter AS (
            SELECT died.*, coalesce(cluster, died.fingerprint) AS cluster
            FROM {{died}} AS died LEFT JOIN clustered USING (fingerprint)
        )
        SELECT cluster, queue,
            max_by({BARE}, struct(ended_at, message_id)) AS label,
            coalesce(max_by(error, struct(ended_at, message_id)), '') AS error,
            mode(fingerprint, true) AS fingerprint,
            count(DISTINCT fingerprint) AS fingerprints,
            array_join(array_sort(collect_set(cause)), ', ') AS causes,
            count(*) OVER (PARTITION BY cluster) AS queues,
            count(*) AS dead_letters,
            min(ended_at) AS first_at, max(ended_at) AS last_at,
            count_if(ended_at < :middle) AS former,
            count_if(ended_at >= :middle) AS latter,
            count_if(ended_at >= :middle) - count_if(ended_at < :middle) AS change
        FROM letter GROUP BY cluster, queue
        ORDER BY dead_letters DESC, cluster, queue
        """,  # noqa: S608  # constants
        args={"middle": middle(values)},
        died=died,
        worded=worded,
    )
