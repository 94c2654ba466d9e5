"""The progress of Spark's work for a run, updated once a second by a thread.

The same thread notices when somebody cancels the run, and stops Spark.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from django.db import connection
from pyspark.sql import SparkSession

from dashboards.models import ReportRun
from dashboards.pipeline import runs
from dashboards.reports.errors import Cancelled
from dashboards.spark.control import NamedJob, named

EVERY_S = 1.0


@contextmanager
def watched(
    spark: SparkSession, run: ReportRun, begin: float, end: float
) -> Iterator[None]:
    """While the block runs, move the run's progress from ``begin`` to ``end``.

    Raises:
        Cancelled: somebody cancelled the run.
    """
    runs.go_on(run, begin)
    name = f"run {run.pk} from {begin}"
    ended = Event()

    def follow(asked: NamedJob) -> None:
        while not ended.wait(EVERY_S):
            try:
                runs.go_on(run, begin + (end - begin) * asked.share_done())
            except Cancelled:
                asked.stop()
        connection.close()  # each thread has its own connection

    with named(spark, name, str(run)) as asked:
        thread = Thread(target=follow, name=name, args=[asked])
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
    runs.go_on(run, end)
