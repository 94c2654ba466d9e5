"""Asking Spark how far it is, and to stop: its driver is in this process, or far away.

With ``SPARK_REMOTE`` a server of Spark Connect has the driver, and this process has
neither Java nor a context. It tells of each query's tasks while the query runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark import StatusTracker
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote


@dataclass(frozen=True)
class NamedJob:
    """Work that Spark was given under a name."""

    share_done: Callable[[], float]  # from 0 to 1, of what is planned so far
    stop: Callable[[], object]


@contextmanager
def named(spark: SparkSession, name: str, about: str) -> Iterator[NamedJob]:
    """What this thread asks of Spark within the block, under a name."""
    if is_remote():
        with named_far_away(spark, name) as asked:
            yield asked
        return
    context = spark.sparkContext
    context.setJobGroup(name, about)
    tracker = context.statusTracker()
    yield NamedJob(lambda: share(tracker, name), lambda: context.cancelJobGroup(name))


@contextmanager
def named_far_away(spark: SparkSession, name: str) -> Iterator[NamedJob]:
    last = [0.0]

    def hear(stages: Iterable[Any] | None = None, **_: Any) -> None:
        known = list(stages or ())
        if tasks := sum(stage.num_tasks for stage in known):
            last[0] = sum(stage.num_completed_tasks for stage in known) / tasks

    handler: Any = hear  # the type of it needs the client to be installed
    spark.addTag(name)
    spark.registerProgressHandler(handler)
    try:
        yield NamedJob(lambda: last[0], lambda: spark.interruptTag(name))
    finally:
        spark.removeProgressHandler(handler)
        spark.removeTag(name)


def share(tracker: StatusTracker, group: str) -> float:
    """Of the tasks that Spark has planned so far; it plans more as it goes."""
    jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup(group))
    stages = [
        stage
        for job in jobs
        if job
        for stage in map(tracker.getStageInfo, job.stageIds)
        if stage
    ]
    tasks = sum(stage.numTasks for stage in stages)
    return sum(stage.numCompletedTasks for stage in stages) / tasks if tasks else 0.0
