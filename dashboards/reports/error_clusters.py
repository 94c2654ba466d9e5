"""Clusters: dead letters whose errors differ in a few words only.

A fingerprint is a group of errors that differ in numbers and names only. A cluster
merges fingerprints whose errors are similar: the words that both have are at least 70 %
of the words that either has (Jaccard index). The most frequent fingerprint comes first.
Each fingerprint joins the first cluster whose first fingerprint is similar, or starts a
new cluster. So every member is similar to the first, and the same dead letters always
give the same clusters. They are few, so the driver compares them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dashboards.reports.common_sql import CAUSE, DEAD

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ALIKE, PARTS = 7, 10  # at least 7 of 10 words; integers, to compare exactly
MOST = 2000  # fingerprints that are compared, the most frequent first

QUOTED = r"""'\'[^\']*\'|"[^"]*"|`[^`]*`'"""


def bare(error: str) -> str:
    """SQL for the first line of an error without what varies: quoted, in braces, with
    digits."""
    line = rf"split_part(coalesce({error}, ''), '\n', 1)"
    unquoted = f"regexp_replace({line}, {QUOTED}, '…')"
    return rf"regexp_replace({unquoted}, r'\S*\d\S*', '…')"


DIED = f"""
    SELECT queue, coalesce(fingerprint, '') AS fingerprint, error, {CAUSE} AS cause,
        ended_at, message_id
    FROM {{lifelines}} WHERE {DEAD}
"""  # noqa: S608  # constants
# Fingerprints, the most frequent first, each with the words of its first error.
WORDS = rf"""
    SELECT fingerprint, regexp_extract_all(lower(bare), r'\p{{{{L}}}}+', 0) AS words
    FROM (
        SELECT fingerprint, count(*) AS n,
            {bare("min_by(error, struct(ended_at, message_id, queue))")} AS bare
        FROM {{died}} WHERE fingerprint <> '' GROUP BY fingerprint
    )
    ORDER BY n DESC, fingerprint LIMIT {MOST}
"""  # noqa: S608  # constants


def letters(lifelines: DataFrame) -> DataFrame:
    """The stays that were dead-lettered, each with its ``cluster``: the most frequent
    of the similar fingerprints; empty if there is no error."""
    spark = lifelines.sparkSession
    died = spark.sql(DIED, lifelines=lifelines)
    worded = [tuple(one) for one in spark.sql(WORDS, died=died).collect()]
    schema = "fingerprint string, cluster string"
    return spark.sql(
        """
        SELECT /*+ BROADCAST(clustered) */ died.*,
            coalesce(cluster, died.fingerprint) AS cluster
        FROM {died} AS died LEFT JOIN {clustered} AS clustered USING (fingerprint)
        """,
        died=died,
        clustered=spark.createDataFrame(list(clusters(worded)), schema),
    )


def clusters(worded: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, str]]:
    """Each fingerprint with the first one of its cluster.

    Args:
        worded: fingerprints and their words, the most frequent first.
    """
    firsts: list[tuple[str, set[str]]] = []
    for fingerprint, listed in worded:
        words = set(listed)
        near = (first for first, known in firsts if are_similar(words, known))
        cluster = next(near, fingerprint)
        if cluster == fingerprint:
            firsts.append((fingerprint, words))
        yield fingerprint, cluster


def are_similar(one: set[str], two: set[str]) -> bool:
    both = len(one & two)
    return both > 0 and PARTS * both >= ALIKE * (len(one) + len(two) - both)
