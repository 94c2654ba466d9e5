"""The adapter for the public harness keeps the harness's contract."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import installed
from tests.amqp.launching import database_url
from tests.broker.bridges.other_backout import parameters
from tests.console.until import until
from tests.harness import histogram, table
from tests.harness.contract import Pace, Told, Window

STOPS_WITHIN_S = 5  # the contract
REQUIRED = {
    *("claim_p50_ms", "claim_p95_ms", "claim_p99_ms"),
    *("enqueue_rate", "completion_rate", "queue_depth"),
}
TOKENS = (50, 50, 300)  # the last one is more than a batch
LEFT = """
SELECT (SELECT count(*) FROM broker_message),
       (SELECT count(*) FROM broker_ready)
       + (SELECT count(*) FROM broker_delayed) + (SELECT count(*) FROM broker_claim)"""


class Adapter:
    """The adapter's process, and the lines that it has written."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.lines = folder / "lines"
        url = urlsplit(database_url())._replace(path=f"/{name}").geturl()
        told = {
            "DATABASE_URL": url,
            "PRODUCER_MODE": "fixed",
            "PRODUCER_PACING": "harness",
            "WORKER_COUNT": "4",
            "SAMPLE_EVERY_S": "1",
        }
        with self.lines.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.harness.backout"],
                cwd=installed.TREE,
                env=os.environ | told,
                stdin=subprocess.PIPE,
                stdout=file,
                text=True,
            )

    def ask_for(self, messages: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"ENQUEUE {messages}\n")
        self.process.stdin.flush()

    def records(self, kind: str) -> list[dict[str, Any]]:
        assert self.process.poll() is None, "the adapter has ended"
        whole = self.lines.read_text().rpartition("\n")[0].splitlines()
        return [one for one in map(json.loads, whole) if one["kind"] == kind]

    def fetch(self, query: str) -> tuple[Any, ...]:
        with psycopg.connect(**parameters(self.name)) as line:
            return line.execute(query.encode()).fetchone() or ()


@pytest.fixture
def adapter(transactional_db: None, tmp_path: Path) -> Iterator[Adapter]:
    name = f"harness_{os.getpid()}"
    installed.recreate(name)
    one = Adapter(tmp_path, name)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.communicate()
    installed.recreate(name, create=False)


def test_it_describes_itself_handles_all_and_ends_in_time(adapter: Adapter) -> None:
    (descriptor,) = until(lambda: adapter.records("descriptor"))
    folder = installed.TREE / "tests" / "harness" / "backout"
    manifest = json.loads((folder / "adapter.json").read_text())
    assert set(manifest["event_tables"]) < set(descriptor["event_tables"])
    for name in descriptor["event_tables"]:
        assert adapter.fetch(f"SELECT to_regclass('{name}')") != (None,)
    assert descriptor["system"] == manifest["system"]
    assert descriptor["db_name"] == adapter.name

    until(lambda: adapter.records("adapter"))  # what follows is in later samples
    for messages in TOKENS:
        adapter.ask_for(messages)
    until(lambda: adapter.fetch(LEFT) == (sum(TOKENS), 0))
    samples = until(lambda: what_was_done(adapter))
    by_time: dict[str, set[str]] = {}
    for one in samples:
        by_time.setdefault(one["t"], set()).add(one["metric"])
    assert all(metrics >= REQUIRED for metrics in by_time.values())
    assert {one["system"] for one in samples} == {"backout"}

    began = time.monotonic()
    adapter.process.terminate()
    assert adapter.process.wait(STOPS_WITHIN_S) == 0
    assert time.monotonic() - began < STOPS_WITHIN_S


def what_was_done(adapter: Adapter) -> list[dict[str, Any]] | None:
    """All samples, once they speak of all messages, and the queue is empty."""
    samples = adapter.records("adapter")
    rates = [one for one in samples if one["metric"] == "completion_rate"]
    done = sum(
        one["value"] * (at(one) - at(before)).total_seconds()
        for before, one in pairwise(rates)
    )
    depths = [one["value"] for one in samples if one["metric"] == "total_backlog"]
    enough = 0.9 * sum(TOKENS) <= done <= 1.1 * sum(TOKENS)
    return samples if enough and depths[-1] == 0 else None


def at(sample: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(sample["t"])


@given(st.integers(0, histogram.LONGEST_US))
def test_a_bucket_is_within_a_thousandth_of_its_values(us: int) -> None:
    index = histogram.bucket(us)
    assert 0 <= index < histogram.SIZE
    assert abs(histogram.middle_us(index) - us) <= us / 1000


def test_quantiles_are_of_the_window_only() -> None:
    window, totals = Window(), [0] * histogram.SIZE
    totals[histogram.bucket(9_000)] = 100
    assert window.quantiles_ms(0, list(totals)) == pytest.approx([9, 9, 9], rel=0.001)
    totals[histogram.bucket(1_000)] = 98
    totals[histogram.bucket(5_000)] = 2
    assert window.quantiles_ms(30, totals) == pytest.approx([1, 1, 5], rel=0.001)


def test_the_table_adds_replicas_up_and_leaves_the_warm_up_out(tmp_path: Path) -> None:
    names = (
        *("system", "instance_id", "sampled_at", "phase_label", "phase_type"),
        *("subject_kind", "subject", "metric", "value"),
    )
    done = ("adapter", "", "completion_rate")
    tables = [("table", f"public.{one}", "n_dead_tup") for one in ("a", "b")]
    samples = [
        ("0", "12:00:00.010", "warmup", "warmup", *done, 9000),
        ("0", "12:00:05.010", "clean", "clean", *done, 100),
        ("1", "12:00:04.990", "clean", "clean", *done, 50),
        ("0", "12:00:10.010", "clean", "clean", *done, 200),
        ("1", "12:00:10.100", "clean", "clean", *done, 70),
        *(("0", "12:00:10.000", "clean", "clean", *one, 30) for one in tables),
    ]
    with (tmp_path / "raw.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(names)
        for replica, time_of_day, *more in samples:
            rows.writerow(["one", replica, f"2026-11-30T{time_of_day}Z", *more])
    lost = {"jobs_lost": 3.0, "chaos_recovery_time_s": None}
    summary = {"systems": {"one": {"phases": {"clean": lost}}}}
    (tmp_path / "summary.json").write_text(json.dumps(summary))

    (row,) = table.rows_of("chaos", "kills", tmp_path)
    assert (row.system, row.phase) == ("one", "clean")
    assert row.figures == {
        "completion_rate": 210,
        "completion_rate_least": 150,
        "dead_rows_most": 60,
        "jobs_lost": 3,
    }
    text = table.write([row], ["another"], tmp_path / "table")
    assert text.endswith("- another")
    assert json.loads((tmp_path / "table.json").read_text())["failures"] == ["another"]


def told(monkeypatch: pytest.MonkeyPatch, **more: str) -> Told:
    for name, value in {"DATABASE_URL": "postgres://localhost/one", **more}.items():
        monkeypatch.setenv(name, value)
    return Told.read()


def test_a_fixed_rate_is_credited_by_the_time_that_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A producer that is late catches up, in batches that are not too large."""
    pace = Pace(
        told(monkeypatch, PRODUCER_RATE="1000", PRODUCER_BATCH_MAX="10"),
        threading.Event(),
    )
    batches, began = pace.batches(), time.monotonic()
    sizes = [next(batches)]
    time.sleep(0.2)  # a put that takes long
    sizes += islice(batches, 30)
    passed_s = time.monotonic() - began
    assert max(sizes) == 10
    assert 0.5 * 1000 * passed_s <= sum(sizes) <= 1000 * passed_s


def test_a_target_depth_asks_for_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = {"PRODUCER_MODE": "depth-target", "TARGET_DEPTH": "300"}
    pace = Pace(told(monkeypatch, **asked), threading.Event())
    pace.depth = 30
    assert list(islice(pace.batches(), 3)) == [128, 128, 14]
