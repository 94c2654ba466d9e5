"""Transfers of bridge links: a silver table with one row for each message and event.

An event about several messages has arrays with one element for each id. Such an event
moves no entry, so deliveries and stays ignore it.
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from dashboards.pipeline.events import CARRIED

TRANSFERS = """
    day date, at timestamp, message_id bigint, queue_id int, queue string, link string,
    role string, counted boolean, outcome string, other string, latency_ms bigint,
    transformed boolean, copy bigint
"""
TOLD = """
    link string, role string, counted boolean, outcomes array<string>,
    others array<string>, latencies_ms array<bigint>, transformed array<boolean>,
    copies array<bigint>
"""


def transfers(events: DataFrame) -> DataFrame:
    """Rows of ``TRANSFERS`` without the day.

    Args:
        events: the events of a day, as ``events.EVENTS``.
    """
    return events.sparkSession.sql(
        f"""
        SELECT at, message_id, queue_id,
            coalesce(queue, concat('deleted queue ', queue_id)) AS queue,
            told.link, told.role, coalesce(told.counted, false) AS counted,
            get(told.outcomes, place) AS outcome, get(told.others, place) AS other,
            get(told.latencies_ms, place) AS latency_ms,
            coalesce(get(told.transformed, place), false) AS transformed,
            get(told.copies, place) AS copy
        FROM (SELECT *, from_json(detail, '{" ".join(TOLD.split())}') AS told
              FROM {{events}} WHERE kind = {CARRIED})
        LATERAL VIEW posexplode(ids) AS place, message_id
        """,  # noqa: S608  # constants
        events=events,
    )
