"""Reports: Spark answers questions over months of the journal; pages show the answers.

``dashboards.pipeline`` builds the tables that reports read from the journal.

This module is the plug-in point. A report is a module with a function ``build`` that is
decorated by ``@report``, in this package or in the module ``reports`` of any installed
application. Pages import these modules without Spark, so they may import pyspark for
type checking only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from django.utils.module_loading import autodiscover_modules

from dashboards.reports.declaration import (
    Build,
    Chart,
    Check,
    Column,
    Inputs,
    Parameter,
    Report,
    Rows,
    Total,
    Values,
)

__all__ = [
    "Chart", "Column", "Inputs", "Parameter", "Report", "Rows", "Total", "Values",
    "discover", "nightly", "report",
]  # fmt: skip

# Modules of this package that are not reports.
MACHINERY = {
    "common_sql", "declaration", "error_clusters", "errors", "field_significance",
    "policies", "quality", "rule_evaluation",
}  # fmt: skip

REPORTS: dict[str, Report] = {}


def report(  # noqa: PLR0913  # each is named where it is used
    slug: str,
    *,
    title: str,
    question: str,
    inputs: tuple[str, ...],
    columns: tuple[Column, ...],
    totals: tuple[Total, ...] = (),
    check: Check | None = None,
    charts: tuple[Chart, ...] = (),
    parameters: tuple[Parameter, ...] = (),
    version: int = 1,
    keep_days: int = 400,
    nightly: bool = True,
    tells: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
) -> Callable[[Build], Build]:
    """Register a report under a unique slug; ``declaration.Report`` has the fields."""

    def register(build: Build) -> Build:
        if slug in REPORTS:
            raise ValueError(f"there is a report {slug!r} already")
        about = Report(
            slug, title, question, inputs, columns, build, totals, check, charts,
            parameters, version, keep_days, nightly, tells,
        )  # fmt: skip
        if faults := about.faults():
            raise ValueError("; ".join(faults))
        REPORTS[slug] = about
        return build

    return register


def discover() -> Mapping[str, Report]:
    """Import the modules of all reports; return the reports by slug."""
    for module in iter_modules(__path__):
        if module.name not in MACHINERY:
            import_module(f"{__name__}.{module.name}")
    autodiscover_modules("reports")
    return REPORTS


def nightly() -> list[str]:
    """The slugs of the reports that run each night."""
    return [one.slug for one in discover().values() if one.nightly]
