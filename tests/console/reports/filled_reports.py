"""Reports for a console with something on every page: rows of days, and runs that had
parameters, in each state that a run can be in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from itertools import product
from typing import Any

from django.contrib.auth.models import User

from dashboards.models import ReportRow, ReportRun
from dashboards.pipeline import locks
from dashboards.reports import Column, discover
from tests.make import minutes

State = ReportRun.State
DAYS = 4
ASKED = "what-if"
ERROR = "ValueError: row 7 of the file orders-2026-03.csv is bad: no such currency, XBT"
CHECKS = [
    {"claim": "every message of every journal row was read",
     "found": 1200, "expected": 1200, "times": 7},
    {"claim": "every message that failed has one outcome", "found": 31, "expected": 31,
     "times": 1},
]  # fmt: skip
TEXTS = {  # of columns that are a word of a few, where any text will not do
    "cause": ("REJECTED", "EXPIRED", "MAX_DELIVERY_ATTEMPTS"),
    "link": ("shop/orders-out", "shop/returns-in", "mail/letters-to-the-archive"),
    "fingerprint": ("1f0c5b9e", "77aa02d4", "c0ffee12"),
    "policy": ("A", "B"),
    "handler": ("shop.orders.ship", "anna", "shop/orders-out"),
    "how": ("resubmitted", "accepted", "discarded"),
    "what": ("arrived", "cleared", "waits"),
    "rule": ("DESTQ('orders') ACTION(FWD) FWDQ(BILLS)", "ACTION(IGNORE)", "(no rule)"),
}


def make_reports(user: User, long: str, now: datetime) -> list[str]:
    """Where their pages are.

    Args:
        long: the name of a queue, as long as they get.
    """
    make_dead_letters(now)
    make_throughput(long, now)
    wide = {slug: make_asked(slug, user, long, now) for slug in ("causes", ASKED)}
    stopped = make_run(
        ASKED, user, State.STOPPED, {"days": 7}, ended_at=now,
        error="The archive has nothing from before 2026-03-07, and 90 days were asked"
        " for. Ask for at most 7 days, or wait until the archive has more.",
    )  # fmt: skip
    cancelled = make_run(
        ASKED, user, State.CANCELLED, {"days": 8}, ended_at=now, cancelled_at=now,
        error="omar cancelled it. Nothing was changed.",
    )  # fmt: skip
    running = make_run(
        ASKED, user, State.RUNNING, {"days": 9}, started_at=now, progress=0.42,
        stage="Replaying deliveries under two policies",
    )  # fmt: skip
    return [
        "/reports/dead-letters/",
        "/reports/dead-letters/?days=90&queue=orders&sort=-dead_letters",
        "/reports/dead-letters/?queue=nowhere",
        "/reports/throughput/?days=1",
        make_by_day("bridge-transfers", long, now),
        *(f"/reports/{slug}/?run={run.pk}" for slug, run in wide.items()),
        *(f"/reports/{ASKED}/?run={one.pk}" for one in (stopped, cancelled, running)),
    ]


@contextmanager
def running() -> Iterator[None]:
    """Meanwhile, the runs with parameters that say so are run by somebody."""
    with ExitStack() as held:
        for one in ReportRun.objects.filter(report=ASKED, state=State.RUNNING):
            assert held.enter_context(locks.attempted(one.pk))
        yield


def make_run(
    slug: str, user: User, state: str, said: dict[str, Any], **fields: Any
) -> ReportRun:
    about = discover()[slug]
    parameters = {one.name: one.default for one in about.parameters} | said
    return ReportRun.objects.create(
        report=slug, state=state, requested_by=user, parameters=parameters, **fields
    )


def make_asked(slug: str, user: User, long: str, now: datetime) -> ReportRun:
    """A run that ended well, with rows."""
    run = make_run(
        slug, user, State.DONE, {}, rows=6, as_of=now, checks=CHECKS,
        started_at=now - minutes(2), ended_at=now,
    )  # fmt: skip
    ReportRow.objects.bulk_create(
        ReportRow(report=slug, run=run, n=n, cells=cells)
        for n, cells in enumerate(rows_of(slug, long, now, 6), 1)
    )
    return run


def make_by_day(slug: str, long: str, now: datetime) -> str:
    """Rows for some days of a report that has some for each; where its page is."""
    for back in range(DAYS):
        then = now - timedelta(days=back)
        ReportRow.objects.bulk_create(
            ReportRow(report=slug, day=then.date(), n=n, cells=cells)
            for n, cells in enumerate(rows_of(slug, long, then, 4), 1)
        )
    ReportRun.objects.create(
        report=slug, state=State.DONE, rows=16, started_at=now - minutes(1),
        ended_at=now, as_of=now,
    )  # fmt: skip
    return f"/reports/{slug}/"


def make_the_others(user: User, long: str, now: datetime) -> Iterator[str]:
    """Those that no test has to look at, because they look like one of the above."""
    for slug, about in sorted(discover().items()):
        if ReportRow.objects.filter(report=slug).exists():
            continue
        if about.is_by_day:
            yield make_by_day(slug, long, now)
        else:
            yield f"/reports/{slug}/?run={make_asked(slug, user, long, now).pk}"


def rows_of(slug: str, long: str, now: datetime, many: int) -> list[dict[str, Any]]:
    """What could stand in a report's columns."""
    columns = discover()[slug].columns
    queues = ("orders", "bills", long)
    return [
        {one.name: value_of(one, n, queues, now) for one in columns}
        for n in range(many)
    ]


def value_of(column: Column, n: int, queues: Sequence[str], now: datetime) -> Any:
    odd = sum(column.name.encode()) % 17
    words = TEXTS.get(column.name) or TEXTS.get(column.type)
    if words:
        return words[n // 2 % len(words) if column.name != "policy" else n % 2]
    return {
        "queue": queues[n // 2 % len(queues)],
        "text": ERROR,
        "message": 4711 + n,
        "count": (n * 37 + odd * 11) % 480,
        "number": (n * 37 + odd) % 90 / 4,
        "share": (n * 13 + odd) % 100 / 100,
        "seconds": float((n * 900 + odd * 41) % 9000),
        "day": now.date().isoformat(),
        "moment": (now - minutes(n)).isoformat(),
    }[column.type]


def make_dead_letters(now: datetime) -> None:
    """Some days, and a run in each state."""
    for days in range(20):
        for cause in ("REJECTED", "EXPIRED", "MAX_DELIVERY_ATTEMPTS")[: days % 3 + 1]:
            ReportRow.objects.create(
                report="dead-letters",
                day=(now - minutes(24 * 60 * days)).date(),
                n=1,
                cells={
                    "day": str((now - minutes(24 * 60 * days)).date()),
                    "queue": "orders",
                    "cause": cause,
                    "dead_letters": 3 + days * 7 % 11,
                    "last_at": now.isoformat(),
                },
            )
    ended = {"ended_at": now, "as_of": now}
    for state in ReportRun.State.values:
        if state not in ("waiting", "running"):  # one at a time
            ReportRun.objects.create(report="dead-letters", state=state, **ended)
    ReportRun.objects.create(report="dead-letters", state="running", progress=0.4)


def make_throughput(long: str, now: datetime) -> None:
    """Two queues, for some hours, one of them with a long name."""
    hour = now.replace(minute=0, second=0, microsecond=0)
    hours = [hour - timedelta(hours=n) for n in range(30)]
    rows = [
        ReportRow(
            report="throughput",
            day=at.date(),
            n=n,
            cells={
                "day": str(at.date()),
                "minute": at.isoformat(),
                "queue": queue,
                "put": 40 + n * 13 % 29,
                "got": 38 + n * 11 % 31,
                "accepted": 30 + n * 7 % 17,
                "backed_out": n % 3,
                "dead_lettered": int(n % 11 == 0),
            },
        )
        for n, (at, queue) in enumerate(product(hours, ("orders", long)))
    ]
    ReportRow.objects.bulk_create(rows)
    ReportRun.objects.create(
        report="throughput", state="done", rows=60, started_at=now - minutes(1),
        ended_at=now, as_of=now,
    )  # fmt: skip
