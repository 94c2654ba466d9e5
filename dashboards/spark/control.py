"""Read the progress of Spark's work, and stop it, with a local or a remote driver.

With ``SPARK_REMOTE`` the driver is in a server of Spark Connect, and this process has
no Java and no Spark context. The server reports each query's tasks while it runs.
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
    """Work that Spark does under a name: a job group or a tag."""

    # the completed share of the tasks planned so far, from 0 to 1
    share_done: Callable[[], float]
    stop: Callable[[], object]


@contextmanager
def named(spark: SparkSession, name: str, about: str) -> Iterator[NamedJob]:
    """Give Spark's work of this thread within the block a name."""
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

    handler: Any = hear  # the type of a handler exists only if the client is installed
    spark.addTag(name)
    spark.registerProgressHandler(handler)
    try:
        yield NamedJob(lambda: last[0], lambda: spark.interruptTag(name))
    finally:
        spark.removeProgressHandler(handler)
        spark.removeTag(name)


def share(tracker: StatusTracker, group: str) -> float:
    """The share of completed tasks. Spark plans more tasks while it works."""
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
