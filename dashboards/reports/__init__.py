"""Reports: questions over months of the journal, answered by Spark, read on pages.

The way of an event to a number on a page:

    bronze.py        windows of the journal become Parquet files, each listed
    sources.py       the listed files become a frame of events
    dead_letters.py  a report: frames to frames, and what must be true of them
    pipeline.py      one run: the steps above, then the days it counted are replaced
    runs.py          asking for a run, and what became of it: all that pages need

This module is the plug-in point. A report is a module with a ``build`` under
``@report``, in this package or in the module ``reports`` of any installed application.
Pages list reports without Spark, so its module may name pyspark's types only; frames
bring all methods that are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from django.utils.module_loading import autodiscover_modules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Build = Callable[["DataFrame"], "DataFrame"]
Check = Callable[["DataFrame", Sequence[Mapping[str, Any]]], None]


@dataclass(frozen=True)
class Report:
    """What there is to know of a report without running it."""

    slug: str
    title: str
    question: str  # that it answers
    table: str  # the model its rows are copied to, "app.Model"; it has a ``day``
    build: Build  # the events of whole days -> rows of the table
    check: Check  # the same events, the rows: raises ReportError


# What in this package is no report. Much of it imports Spark, which pages go without.
MACHINERY = {
    "bars", "bronze", "errors", "locks", "pipeline", "quality", "runs", "session",
    "sources", "watch",
}  # fmt: skip

REPORTS: dict[str, Report] = {}


def report(
    slug: str, *, title: str, question: str, table: str, check: Check
) -> Callable[[Build], Build]:
    """Register a report; each slug is one."""

    def register(build: Build) -> Build:
        if slug in REPORTS:
            raise ValueError(f"there is a report {slug!r} already")
        REPORTS[slug] = Report(slug, title, question, table, build, check)
        return build

    return register


def discover() -> Mapping[str, Report]:
    """All reports by slug, once their modules are imported."""
    for module in iter_modules(__path__):
        if module.name not in MACHINERY:
            import_module(f"{__name__}.{module.name}")
    autodiscover_modules("reports")
    return REPORTS
