"""Pages of a report's rows."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from ninja.errors import HttpError, ValidationError

from dashboards.models import ReportRow
from dashboards.pages import cells, results
from dashboards.pages.results import Found, ResultsQuery
from dashboards.reports import Report
from dashboards.reports.errors import FileLost

CURSOR = r"^([0-9]{4}-[0-9]{2}-[0-9]{2}|-)\.[0-9]{1,18}\.[0-9]{1,18}$|^$"


def page_of(
    request: HttpRequest, wanted: ResultsQuery, after: str, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Some rows as JSON, and where the next page begins.

    Raises:
        HttpError: minutes are asked for, and a day has no file.
        ValidationError: no row is as ``after`` says.
    """
    rows = results.found(request.user, wanted)
    read = by_minute if wanted.is_by_minute else in_order
    found = read(rows, wanted, after, limit + 1)
    following = cursor(found[limit - 1]) if len(found) > limit else None
    return [row_document(wanted.report, row) for row in found[:limit]], following


def in_order(
    rows: Found, wanted: ResultsQuery, after: str, many: int
) -> list[ReportRow]:
    """Rows of the database, as they were published."""
    if after:
        rows = rows.filter(behind(after, wanted.report))
    return list(rows.order_by("-day", "n", "pk")[:many])


def by_minute(
    rows: Found, wanted: ResultsQuery, after: str, many: int
) -> list[ReportRow]:
    """Rows of minutes, in the order of the page; a cursor has a place in a day."""
    begin = 0
    if after:
        day, n, _ = after.split(".")
        rows, begin = rows.filter(day__lte=day_of(day)), int(n)
    try:
        found = results.in_order(rows, wanted)
        return list(found[begin : begin + many])
    except FileLost as error:
        raise HttpError(503, str(error)) from error


def behind(after: str, one: Report) -> Q:
    """The rows after a given row."""
    day, n, pk = after.split(".")
    further = Q(n__gt=int(n)) | Q(n=int(n), pk__gt=int(pk))
    if not one.is_by_day:
        return further
    at = day_of(day)
    return Q(day__lt=at) | (Q(day=at) & further)


def day_of(said: str) -> date:
    try:
        return date.fromisoformat(said)
    except ValueError as error:
        where = ("query", "after")
        raise ValidationError([{"loc": where, "msg": f"no cursor: {error}"}]) from error


def cursor(row: ReportRow) -> str:
    return f"{row.day or '-'}.{row.n}.{row.pk or 0}"


def row_document(one: Report, row: ReportRow) -> dict[str, Any]:
    """A row as JSON; unknown values are null."""
    said = cells.values(one, row)
    return {
        column.name: None
        if said[column.name] is None
        else cells.plain(column, said[column.name])
        for column in one.columns
    }
