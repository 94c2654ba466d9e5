"""Clusters: dead letters whose errors differ in a few words only.

A fingerprint is a group of errors that differ in numbers and names only. A cluster
merges fingerprints whose errors are similar: the words that both have are at least 70 %
of the words that either has (Jaccard index). The most frequent fingerprint comes first.
Each fingerprint joins the first cluster whose first fingerprint is similar, or starts a
new cluster. So every member is similar to the first, and the same dead letters always
give the same clusters. Only pairs with a rare word in common are compared (prefix
filtering): two similar sets share at least one of the rarest words of each, the rarest
30 % and one more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.reports.common_sql import CAUSE, DEAD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ALIKE = "0.7"  # an SQL decimal, so that the comparison is exact
MOST = 2000  # fingerprints that are compared, the most frequent first

# The first line of an error without what varies: quoted, in braces, with digits.
QUOTED = r"""'\'[^\']*\'|"[^"]*"|`[^`]*`'"""
BARE = rf"""regexp_replace(regexp_replace(split_part(coalesce(error, ''), '\n', 1),
    {QUOTED}, '…'), r'\S*\d\S*', '…')"""
DIED = f"""
    SELECT queue, coalesce(fingerprint, '') AS fingerprint, error, {CAUSE} AS cause,
        ended_at, message_id
    FROM {{lifelines}} WHERE {DEAD}
"""  # noqa: S608  # constants
# Fingerprints, the most frequent first, each with the words of its first error.
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
# The rarest words of each fingerprint: as many as are needed so that similar
# fingerprints always share one of them.
RARE = f"""
    SELECT rank, inline(slice(array_sort(collect_list(struct(n, word))), 1,
        CAST(count(*) - ceil({ALIKE} * count(*)) + 1 AS int)))
    FROM (SELECT rank, explode(words) AS word FROM {{worded}})
    JOIN (SELECT word, count(*) AS n FROM {{worded}} LATERAL VIEW explode(words) AS word
          GROUP BY word) USING (word)
    GROUP BY rank
"""  # noqa: S608  # constants
# For each fingerprint the more frequent ones that are similar, most frequent first.
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


def letters(lifelines: DataFrame) -> DataFrame:
    """The stays that were dead-lettered, each with its ``cluster``: the most frequent
    of the similar fingerprints; empty if there is no error."""
    spark = lifelines.sparkSession
    died = spark.sql(DIED, lifelines=lifelines)
    # few rows, which are read often
    worded = spark.sql(WORDS, died=died).localCheckpoint()
    return spark.sql(
        f"""
        WITH rare AS ({RARE}), near AS ({NEAR}), clustered AS ({CLUSTERS})
        SELECT died.*, coalesce(cluster, died.fingerprint) AS cluster
        FROM {{died}} AS died LEFT JOIN clustered USING (fingerprint)
        """,  # noqa: S608  # constants
        died=died,
        worded=worded,
    )
