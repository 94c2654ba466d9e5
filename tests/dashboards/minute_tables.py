"""Rows of minutes as a run publishes them: a file, and their hours for pages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

import pyarrow as pa

from dashboards.pages.export import schema_of
from dashboards.pipeline.report_rows import publish
from dashboards.reports import discover

THROUGHPUT = "throughput"


def publish_minutes(said: Iterable[tuple[datetime, str, int]], run: int = 7) -> None:
    """Throughput: the minute, the queue, and how many were put; other counts are 1."""
    about = discover()[THROUGHPUT]
    days: defaultdict[date, list[dict[str, Any]]] = defaultdict(list)
    others = dict.fromkeys(("got", "accepted", "backed_out", "dead_lettered"), 1)
    for at, queue, put in said:
        row = {"day": at.date(), "minute": at, "queue": queue, "put": put}
        days[at.date()].append(row | others)
    for day, rows in days.items():
        publish(about, run, day, run, pa.Table.from_pylist(rows, schema_of(about)))
