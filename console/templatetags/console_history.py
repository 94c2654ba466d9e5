"""The table below charts over time: the same numbers, in rows."""

from __future__ import annotations

from django import template
from django.utils import timezone
from django.utils.html import format_html_join
from django.utils.safestring import SafeString, mark_safe

from console.queues.over_time import OverTime
from console.templatetags.console_reports import amount

register = template.Library()

DAY_S = 86_400


@register.simple_tag
def history_rows(over_time: OverTime) -> SafeString:
    """The rows of the table, the oldest first. End tags are left out, as HTML allows: a
    table has two thousand cells."""
    begin, end = over_time.range.begin, over_time.range.end
    is_long = (end - begin).total_seconds() > DAY_S
    form = "%Y-%m-%d %H:%M" if is_long else "%H:%M:%S"
    return format_html_join(
        "",
        '<tr data-at="{}"><th scope="row">{}{}',
        (
            (
                int(row.at.timestamp()),
                f"{timezone.localtime(row.at):{form}}",
                mark_safe(  # noqa: S308  numbers and units
                    "".join(f"<td>{amount(of, value)}" for of, value in row.values)
                ),
            )
            for row in over_time.rows
        ),
    )
