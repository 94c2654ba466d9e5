"""The rows of a report that a user may see: filter, order, sums.

Pages, files and the API share this code, so that all hide the same rows: those of
queues that the user may not inquire. Rows without a queue add up all queues and are
only for users who may inquire all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any

from django.db.models import (
    BigIntegerField,
    F,
    FloatField,
    Q,
    QuerySet,
    Sum,
)
from django.db.models.expressions import Combinable, OrderBy
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils import timezone

from broker.security import authorities, redaction
from dashboards.acts import LARGEST
from dashboards.models import ReportRow, ReportRun
from dashboards.pages.by_minute import MINUTE, MinuteRows
from dashboards.reports import Column, Report
from dashboards.reports.quality import CheckResult

BROWSE = "broker.browse_queue"  # the permission to read properties
PERIODS = (1, 7, 30, 90)  # numbers of days that a user can choose
USUAL = 30
NUMBERS = {"message", "count", "number", "share", "seconds"}

Found = QuerySet[ReportRow]


@dataclass(frozen=True)
class ResultsQuery:
    """The query of a URL; invalid parameters are ignored."""

    report: Report
    today: date
    days: int = USUAL
    queue: str = ""
    run: int | None = None  # the id of a run of a report with parameters
    sort: str = ""  # the name of a column, with a minus for descending order
    # whether the user wants rows of minutes; if not, ``report`` has rows of hours
    is_by_minute: bool = False

    @classmethod
    def of(cls, report: Report, said: Mapping[str, Any]) -> ResultsQuery:
        days, run = str(said.get("days", "")), str(said.get("run", ""))
        sort = str(said.get("sort", ""))
        names = {one.name for one in report.columns}
        is_by_minute = report.is_of_minutes and said.get("by") == MINUTE
        return cls(
            report if is_by_minute else report.by_hour,
            timezone.now().date(),
            days=int(days) if days in map(str, PERIODS) else USUAL,
            queue=str(said.get("queue", "")),
            run=number(run),
            sort=sort if sort.removeprefix("-") in names else "",
            is_by_minute=is_by_minute,
        )

    @property
    def first(self) -> date:
        """The first day of the period, which ends today (UTC)."""
        return self.today - timedelta(days=self.days - 1)

    @property
    def period(self) -> list[date]:
        return [self.first + timedelta(days=n) for n in range(self.days)]


def number(text: str) -> int | None:
    """A number within the database's range."""
    fits = text.isascii() and text.isdecimal() and len(text) < 20
    return int(text) if fits and int(text) <= LARGEST else None


def found(user: authorities.Principal, wanted: ResultsQuery) -> Found:
    """The rows that match the query, limited to those the user may see."""
    every = ReportRow.objects.filter(report=wanted.report.slug)
    if wanted.report.is_by_day:
        rows = every.filter(day__range=(wanted.first, wanted.today))
    else:
        rows = every.filter(run_id=wanted.run) if wanted.run else every.none()
    return on_queue(visible_rows(user, rows, wanted.report), wanted)


def visible_rows(user: authorities.Principal, rows: Found, report: Report) -> Found:
    """Rows of queues that the user may inquire, including deleted queues; rows with
    properties also need ``browse``.
    """
    if not may_see_some(user, report):
        return rows.none()
    held = authorities.held_by(user)
    for column in queue_columns(report):
        for needed in authorities_for(report):
            if not held.everywhere(needed):
                rows = on_those(rows, column, partial(held.on, needed))
    return unmasked(rows, report)


def on_those(rows: Found, column: Column, is_seen: Callable[[str], bool]) -> Found:
    names = rows.order_by().values_list(text_of(column), flat=True).distinct()
    seen = [one for one in names if one is not None and is_seen(one)]
    return rows.filter(**{f"cells__{column.name}__in": seen})


def unmasked(rows: Found, report: Report) -> Found:
    """Rows without properties that a rule masks on any queue; like a search for masked
    values, they are hidden from everyone.
    """
    veil = redaction.Veil(redaction.sight_of(None).rules) if report.tells else None
    if not veil or not report.tells:
        return rows
    every = rows.order_by().values_list("pk", "cells")
    masked = [pk for pk, said in every if veil.properties(report.tells(said))[1]]
    return rows.exclude(pk__in=masked)


def authorities_for(report: Report) -> tuple[authorities.Authority, ...]:
    return ("inquire", "browse") if report.is_of_properties else ("inquire",)


def may_read(user: authorities.Principal) -> bool:
    """Whether the user or credential may read properties at all."""
    if user is None or authorities.credential_of(user) is not None:
        return True
    return bool(getattr(user, "has_perm", bool)(BROWSE))


def on_queue(rows: Found, wanted: ResultsQuery) -> Found:
    """Rows that name the queue in any column."""
    if not wanted.queue:
        return rows
    if "\0" in wanted.queue:
        return rows.none()
    named = Q()
    for column in queue_columns(wanted.report):
        named |= Q(**{f"cells__{column.name}": wanted.queue})
    return rows.filter(named) if named else rows


def queue_columns(report: Report) -> list[Column]:
    return [one for one in report.columns if one.type == "queue"]


def may_see_some(user: authorities.Principal, report: Report) -> bool:
    """Whether there can be rows that the user may see."""
    if report.is_of_properties and not may_read(user):
        return False
    if queue_columns(report):
        return True
    held = authorities.held_by(user)
    return all(held.everywhere(one) for one in authorities_for(report))


def text_of(column: Column) -> Any:
    return KT(f"cells__{column.name}")


def value_of(column: Column, report: Report) -> Combinable:
    """A cell as the database compares it."""
    if report.is_by_day and column.name == "day":
        return F("day")
    if column.type in NUMBERS:
        return Cast(text_of(column), FloatField())
    text: Combinable = text_of(column)
    return text  # days and times sort as text


def in_order(rows: Found, wanted: ResultsQuery) -> Found | MinuteRows:
    """Rows by the chosen column; by default the newest first, and of the same day or
    time the largest.

    Raises:
        FileLost: minutes are asked for, and a day has no file.
    """
    names = chosen(wanted) + (usual(wanted.report) if wanted.report.is_by_day else [])
    if wanted.is_by_minute:
        order: dict[str, str] = {}
        for one in names:
            is_down = one.startswith("-")
            order.setdefault(
                one.removeprefix("-"), "descending" if is_down else "ascending"
            )
        return MinuteRows.of(rows, wanted.report).order_by([*order.items()])
    return rows.order_by(*(sorting(one, wanted.report) for one in names), "n", "pk")


def chosen(wanted: ResultsQuery) -> list[str]:
    return [wanted.sort] if wanted.sort else []


def usual(report: Report) -> list[str]:
    """The newest day and hour, the largest first count, the queue."""
    counts = [f"-{one.name}" for one in report.columns if one.has_sum]
    names = [one.name for one in queue_columns(report)]
    times = [f"-{report.time.name}"] if report.time else []
    return ["-day", *times, *counts[:1], *names]


def sorting(said: str, report: Report) -> OrderBy:
    """How rows are sorted by a column, with a minus for descending order."""
    name = said.removeprefix("-")
    column = next(one for one in report.columns if one.name == name)
    value = value_of(column, report)
    is_down = said.startswith("-")
    found: OrderBy = (value.desc if is_down else value.asc)(nulls_last=True)  # type: ignore[attr-defined]
    return found


def sums(rows: Found, report: Report) -> dict[str, int]:
    """The sum of each column of counts, by name."""
    counts = {
        f"sum_{one.name}": Sum(Cast(text_of(one), BigIntegerField()), default=0)
        for one in report.columns
        if one.has_sum
    }
    if not counts:
        return {}
    every = rows.order_by().aggregate(**counts)
    return {name.removeprefix("sum_"): int(one) for name, one in every.items()}


def visible_checks(
    user: authorities.Principal, run: ReportRun | None
) -> list[CheckResult]:
    """What a run checked. Its numbers count all queues, so only users who may inquire
    all see them."""
    if run is None or not authorities.held_by(user).everywhere("inquire"):
        return []
    checks: list[CheckResult] = run.checks
    return checks
