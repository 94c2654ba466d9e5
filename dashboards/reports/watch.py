"""How far Spark is with what a run asked of it, told once a second from a thread.

The same thread hears of it when somebody cancels the run, and has Spark stop.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from django.db import connection
from pyspark import StatusTracker
from pyspark.sql import SparkSession

from dashboards.models import ReportRun
from dashboards.reports import runs
from dashboards.reports.errors import Cancelled

EVERY_S = 1.0


@contextmanager
def watched(
    spark: SparkSession, run: ReportRun, begin: float, end: float
) -> Iterator[None]:
    """While the block runs, move the run's progress between two shares of the whole.

    Raises:
        Cancelled: the run is not to go on.
    """
    runs.go_on(run, begin)
    group = f"run {run.pk} from {begin}"
    spark.sparkContext.setJobGroup(group, str(run))
    ended = Event()

    def follow() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not ended.wait(EVERY_S):
            try:
                share = share_done(tracker, group)
                runs.go_on(run, begin + (end - begin) * share)
            except Cancelled:
                spark.sparkContext.cancelJobGroup(group)
        connection.close()  # this thread's own

    thread = Thread(target=follow, name=group)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    runs.go_on(run, end)


def share_done(tracker: StatusTracker, group: str) -> float:
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
