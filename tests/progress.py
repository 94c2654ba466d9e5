"""Tells each minute how long a run of tests will still take.

It knows how long each test took in an earlier run, from the cache of pytest; a test
that is new is taken to be like the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from time import monotonic

import pytest

EACH_S = 60
KEY = "backout/seconds"  # in the cache: durations by test


class Progress:
    """A plug-in of the process that reports."""

    def __init__(self, config: pytest.Config) -> None:
        self.cache: pytest.Cache | None = getattr(config, "cache", None)
        self.before: dict[str, float] = self.cache.get(KEY, {}) if self.cache else {}
        self.took: dict[str, float] = {}
        self.waiting: set[str] = set()
        self.all = 0
        self.processes = 0  # of xdist; 0: this one runs the tests
        self.next_at = monotonic() + EACH_S
        self.config = config

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodeready(self) -> None:
        self.processes += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.begin(ids)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.begin(item.nodeid for item in session.items)

    def begin(self, ids: Iterable[str]) -> None:
        self.waiting = set(ids) - self.took.keys()
        self.all = len(self.waiting) + len(self.took)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        took = self.took.get(report.nodeid, 0.0) + report.duration
        self.took[report.nodeid] = took
        if report.when == "teardown":
            self.waiting.discard(report.nodeid)
        if monotonic() >= self.next_at and self.waiting:
            self.next_at = monotonic() + EACH_S
            self.tell()

    def tell(self) -> None:
        done = self.all - len(self.waiting)
        reporter = self.config.pluginmanager.getplugin("terminalreporter")
        reporter.ensure_newline()
        reporter.write_line(
            f"{done:,} of {self.all:,} tests; about {self.left_s() / 60:.0f} min left"
        )

    def left_s(self) -> float:
        """Seconds that the waiting tests will take, in all processes together."""
        known = self.before | self.took
        usual = fmean(known.values())
        return sum(known.get(one, usual) for one in self.waiting) / (
            self.processes or 1
        )

    def pytest_sessionfinish(self) -> None:
        if self.cache:
            self.cache.set(KEY, self.before | self.took)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):  # of xdist: it reports to another process
        config.pluginmanager.register(Progress(config), "progress")
