"""Cells and charts of reports, formatted by their declared types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlencode

from django import template
from django.urls import reverse
from django.utils import dateformat, timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from broker.formats.quantities import write_duration
from console.templatetags.console import moment, number
from console.templatetags.console_hostile import printable
from dashboards.models import cause_word
from dashboards.pages.cells import Cell
from dashboards.pages.charts import Drawing, Series
from dashboards.pages.results import NUMBERS, ResultsQuery
from dashboards.reports import Column

register = template.Library()

LONGEST = 200  # characters of a text in a table
UNKNOWN = "–"
CLOCKS = {"clock": "H:i", "date": "j M"}  # formats of moments in the user's zone
# Types of columns whose values may come from a message, and so may have any text.
ANYBODYS = ("text", "queue", "fingerprint", "cause")
WORDS: Mapping[str, Callable[[Any], str]] = {
    "cause": lambda value: cause_word(str(value)),
    "share": lambda value: f"{value:.1%}",
    "seconds": lambda value: write_duration(float(value)),
}


@register.simple_tag
def cell(one: Cell, wanted: ResultsQuery | None) -> SafeString | str:
    """A table cell, with a link to its object unless it is of a sample."""
    column, value = one.column, one.value
    if value is None or value == "":
        return UNKNOWN
    if column.type == "moment":
        return moment(value, is_planned=bool(column.unit))  # a whole hour or minute
    words: SafeString | str = amount(column, value)
    if column.type in ANYBODYS:
        words = printable(words, LONGEST)
    where = address_of(one, wanted) if wanted else ""
    return link(where, words) if where else words


def address_of(one: Cell, wanted: ResultsQuery) -> str:
    """The URL that a cell links to: its queue in this report, its message, or the
    messages that it counts; empty if there is none.
    """
    if one.column.type == "queue":
        said = {"days": wanted.days, "queue": one.value}
        said |= {"run": wanted.run} if wanted.run else {}
        return f"?{urlencode(said)}"
    if one.column.type == "message":
        return reverse("console:message", args=[one.value])
    if one.filter:
        return f"{reverse('console:messages')}?{urlencode({'f': one.filter})}"
    return ""


def link(where: str, words: Any) -> SafeString:
    return format_html('<a href="{}">{}</a>', where, words)


@register.simple_tag
def amount(column: Column, value: Any) -> str:
    """A value as text, formatted by its column."""
    if value is None or value == "":
        return UNKNOWN
    if column.type in WORDS:
        return WORDS[column.type](value)
    if column.type in ("count", "number"):
        unit = gettext(column.unit) if column.unit else ""
        return f"{precise(value)} {unit}".strip()
    return day(value) if isinstance(value, date) else str(value)


def precise(value: float) -> str:
    """A number as text; a small number has enough digits to differ from zero."""
    return f"{value:.3g}" if 0 < abs(value) < 0.1 else number(value)


def day(value: date) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M}"
    return value.isoformat()


@register.simple_tag
def place(drawing: Drawing, value: Any) -> str:
    """A short label below a chart."""
    if drawing.by in CLOCKS:
        return dateformat.format(timezone.localtime(value), CLOCKS[drawing.by])
    if isinstance(value, datetime):
        form = "j M" if drawing.by == "day" else "j M H:i"
        return dateformat.format(value.astimezone(UTC), form)
    if isinstance(value, date):
        return dateformat.format(value, "j M")
    return cut(amount(drawing.x, value), 14)


@register.simple_tag
def exactly(drawing: Drawing, value: Any) -> str:
    """The same label without abbreviation."""
    return amount(drawing.x, value) if not isinstance(value, date) else day(value)


@register.simple_tag
def series(drawing: Drawing, one: Series, longest: int = 0) -> str:
    """The name of a series."""
    if drawing.of is None:
        return gettext(drawing.y.title)
    name = gettext("all others") if one.key is None else amount(drawing.of, one.key)
    return cut(name, longest) if longest else name


@register.simple_tag
def answer(drawing: Drawing) -> str:
    """What a chart of counts says, as a sentence: the sum, and the largest series."""
    total = f"{amount(drawing.y, drawing.total)} {drawing.counted}"
    named = [one for one in drawing.series if one.key is not None]
    if drawing.of is None or len(drawing.series) < 2 or not named:
        return f"{total}."
    largest = max(named, key=lambda one: one.total)
    of_all = amount(drawing.y, largest.total)
    words = gettext("%(total)s. The largest part: %(name)s, %(number)s.")
    name = series(drawing, largest, LONGEST)
    return words % {"total": total, "name": name, "number": of_all}


def cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


@register.simple_tag
def dress(drawing: Drawing, one: Series) -> SafeString:
    """The CSS class of a series' colour; a cause has the same colour everywhere."""
    if drawing.of is not None and drawing.of.type == "cause" and one.key is not None:
        return format_html('class="cause" data-cause="{}"', one.key)
    return format_html('class="series" data-series="{}"', one.n)


@register.filter
def is_number(column: Column) -> bool:
    return column.type in NUMBERS and column.type != "message"


@register.simple_tag
def sorting(column: Column, wanted: ResultsQuery, query: str) -> SafeString:
    """A column head: a link that sorts by it, numbers in descending order first."""
    down, up = f"-{column.name}", column.name
    first = usual_order(column)
    turned = (up if first == down else down) if wanted.sort == first else first
    kept = "&".join(p for p in query.split("&") if p and not p.startswith("sort="))
    where = f"?{kept}&sort={turned}" if kept else f"?sort={turned}"
    arrow = {down: " ↓", up: " ↑"}.get(wanted.sort, "")
    return format_html('<a href="{}">{}{}</a>', where, gettext(column.title), arrow)


def usual_order(column: Column) -> str:
    return f"-{column.name}" if is_number(column) else column.name


@register.filter
def orders(wanted: ResultsQuery) -> list[tuple[str, str]]:
    """The choices for narrow pages, which have no column heads: the report's own order,
    each column in its default direction, and the present order.
    """
    found = {"": gettext("as the report has it")}
    found |= {usual_order(one): gettext(one.title) for one in wanted.report.columns}
    titles = {one.name: one.title for one in wanted.report.columns}
    named = titles.get(wanted.sort.removeprefix("-"), "")
    other_way = gettext("%(column)s, the other way")
    found.setdefault(wanted.sort, other_way % {"column": named and gettext(named)})
    return list(found.items())


@register.filter
def order_of(column: Column, wanted: ResultsQuery) -> str:
    """The ``aria-sort`` of a column: ascending, descending or none."""
    orders = {f"-{column.name}": "descending", column.name: "ascending"}
    return orders.get(wanted.sort, "none")
