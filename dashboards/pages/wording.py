"""Declared texts of reports, in the language of the page that shows them.

Declarations have English texts, which files, REST and the command line keep.
"""

from __future__ import annotations

from dataclasses import replace

from django.utils.translation import get_language, gettext

from dashboards.reports import Chart, Column, Report

ENGLISH = "en"


def titled(report: Report) -> Report:
    """A report with its title and its question translated."""
    title, question = gettext(report.title), gettext(report.question)
    return replace(report, title=title, question=question)


def translated(report: Report) -> Report:
    """A report with all its texts translated but those of its parameters, whose errors
    are English."""
    return replace(
        titled(report),
        columns=tuple(map(column, report.columns)),
        charts=tuple(map(chart, report.charts)),
    )


def column(one: Column) -> Column:
    # The unit of a moment is no text: it says what a row counts.
    unit = one.unit if one.type == "moment" else gettext(one.unit)
    return replace(one, title=gettext(one.title), note=gettext(one.note), unit=unit)


def chart(one: Chart) -> Chart:
    return replace(one, title=gettext(one.title))


def in_sentence(title: str) -> str:
    """A translated title within a sentence: only English writes it in small letters."""
    language = get_language() or ENGLISH
    return title.lower() if language.partition("-")[0] == ENGLISH else title


def by_unit(title: str, unit: str) -> str:
    """A translated title, with the unit of time that sums are of, if there is one."""
    by = {
        "minute": gettext("%(chart)s by minute"),
        "hour": gettext("%(chart)s by hour"),
        "day": gettext("%(chart)s by day"),
    }
    return by[unit] % {"chart": title} if unit in by else title
