"""What the charts over time cost: bytes of the samples, and milliseconds of a chart.

The samples are those of queues that are all busy, all the time: none compresses well,
and none is left out. Everything is in a database of its own.

python manage.py with_servers python -m tests.console.queues.charting \
    --queues 200 --days 30
"""

from __future__ import annotations

import random
import time
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from statistics import median

from django.db import connection
from django.test import Client
from django.utils import timezone

from broker.models import HistorySample, Queue
from broker.monitoring.history import levels, packing, reading, sampling
from broker.monitoring.history.packing import Counts
from console.accounts import roles
from console.edges.time_range import RANGES
from tests.amqp.apart import own_database
from tests.make import make_queue, make_user

SLOWEST_MS = 150
TIMES = 7  # of which the median counts
ASKED = """
EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF)
SELECT at, span_s, counts FROM broker_historysample
WHERE period_s = %s AND at > %s AND at <= %s ORDER BY at"""


def busy(
    dice: random.Random, rates: dict[int, float], span_s: int
) -> dict[int, Counts]:
    """Counts of queues with so many messages a second."""
    found = {}
    for queue_id, rate in rates.items():
        came = int(rate * span_s * dice.uniform(0.5, 1.5))
        ready, age = dice.randrange(int(rate * 60) + 2), dice.randrange(90)
        middle = 3 + queue_id % 9
        shares = [0.05, 0.3, 0.4, 0.2, 0.04, 0.01]
        times = [0] * len(packing.TIMES)
        for n, share in enumerate(shares):
            times[middle + n] = int(came * share)
        few = came // 500
        counts = [ready, dice.randrange(9), few, age, came, came, few, few // 3]
        found[queue_id] = [*counts, *times]
    return found


def fill(queues: int, days: int, now: datetime) -> list[int]:
    """Samples of all levels until now."""
    dice = random.Random(7)
    ids = [make_queue(f"queue-{n}").pk for n in range(queues)]
    rates = {pk: dice.lognormvariate(0, 1.5) for pk in ids}
    for level in levels.LEVELS:
        kept = min(level.kept, timedelta(days=days))
        many = int(kept.total_seconds()) // level.period_s
        end = levels.last_end(now, level.period_s)
        period = timedelta(seconds=level.period_s)
        HistorySample.objects.bulk_create(
            [
                HistorySample(
                    period_s=level.period_s,
                    at=end - n * period,
                    span_s=level.period_s,
                    counts=packing.packed(busy(dice, rates, level.period_s)),
                )
                for n in range(many)
            ],
            batch_size=200,
        )
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE broker_historysample")
    return ids


def size(queues: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size('broker_historysample')")
        (whole,) = cursor.fetchone()
        cursor.execute(
            "SELECT period_s, count(*), avg(length(counts))::int"
            " FROM broker_historysample GROUP BY 1 ORDER BY 1"
        )
        for period_s, rows, average in cursor.fetchall():
            print(f"{period_s:>6} s: {rows:>5} rows of {average:>6,} bytes")
    print(f"{whole:,} bytes, {whole / queues:,.0f} for each queue")


def timed(work: Callable[[], object]) -> float:
    """Milliseconds of this process, without what the database takes."""
    found = []
    for _ in range(TIMES):
        began = time.process_time()
        work()
        found.append((time.process_time() - began) * 1000)
    return median(found)


def charts(ids: list[int], now: datetime) -> None:
    user = make_user(
        "ada", permissions=tuple(roles.ROLES["viewer"]), granted=("inquire",)
    )
    client = Client(SERVER_NAME="localhost")
    client.force_login(user)
    every = frozenset(ids)
    slowest = 0.0
    print("range   read one   read all   charts of one   charts of all   bytes, all")
    for name, length in RANGES.items():
        begin = now - length
        one = timed(partial(reading.read, ids[:1], begin, now, now=now))
        many = timed(partial(reading.read, every, begin, now, now=now))
        of_one = f"/history/?queue=queue-0&range={name}"
        of_all = f"/history/?range={name}"
        drawn = [timed(partial(client.get, url)) for url in (of_one, of_all)]
        bytes_sent = len(client.get(of_all).content)
        print(
            f"{name:>5} {one:>8.1f} ms {many:>7.1f} ms {drawn[0]:>12.1f} ms"
            f" {drawn[1]:>12.1f} ms {bytes_sent:>12,}"
        )
        slowest = max(slowest, one, many, *drawn)
    with connection.cursor() as cursor:
        cursor.execute(ASKED, [14_400, now - timedelta(days=30), now])
        print("\n".join(line for (line,) in cursor.fetchall()))
    assert slowest <= SLOWEST_MS, f"{slowest:.0f} ms"


def sampled(now: datetime) -> None:
    """A sample of all queues, when each has changed."""
    sampling.sample(now=now)
    print(f"a sample: {timed(lambda: sampling.sample(now=now)):.1f} ms if unchanged")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=200)
    parser.add_argument("--days", type=int, default=30)
    options = parser.parse_args()
    now = timezone.now()
    with own_database("history_cost"):
        ids = fill(options.queues, options.days, now)
        assert Queue.objects.count() >= options.queues
        size(options.queues)
        charts(ids, now)
        sampled(now)


if __name__ == "__main__":
    main()
