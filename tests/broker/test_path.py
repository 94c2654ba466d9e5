"""The path of one message, as docs/architecture.md has it, walked."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from broker import operations, sql
from broker.client import put
from broker.queueing import delayed
from broker.settlement.outcomes import BackOut
from broker.settlement.settings_cache import caches
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import ERROR, operator
from tests.make import NOON, make_queue, make_setting, minutes, plan_resubmit, seconds

TREE = Path(__file__).parents[2]
BROKER = f"{TREE / 'broker'}/"
PAGE = (TREE / "docs" / "architecture.md").read_text()
TABLE = PAGE.partition("## The path of one message")[2].partition("\n- **put**")[0]
FACE = "client/__init__.py"  # hands on names only
TYPES = "models/moment_field.py"  # of columns

pytestmark = pytest.mark.django_db


class Walk:
    """Which functions of the broker run, by module, and which statements."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered: dict[str, set[str]] = defaultdict(set)
        self.statements: set[str] = set()
        found: Callable[[str], bytes] = sql.statement
        monkeypatch.setattr(sql, "statement", lambda name: found(self.note(name)))

    def note(self, statement: str) -> str:
        self.statements.add(statement)
        return statement

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(BROKER):
            self.entered[code.co_filename.removeprefix(BROKER)].add(code.co_qualname)


def walk_the_path() -> None:
    """Put, fail, wait, fail again, be a dead letter, and be resubmitted."""
    put("orders", b"x", now=NOON)
    work = UnitOfWork(now=NOON + seconds(1))
    assert work.get("orders")
    work.back_out(BackOut(ERROR, spread=0))
    assert delayed.wake_due(limit=1, now=NOON + minutes(1))
    work = UnitOfWork(now=NOON + minutes(2))
    assert work.get("orders")
    work.back_out(BackOut(ERROR, spread=0))
    operation = plan_resubmit(operator(), "all")
    operations.start(operation.pk, limit=1)


def named() -> dict[str, set[str]]:
    """The functions that the page names, by module."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, functions in re.findall(
        r"`(\w[\w/]*\.py)`: ((?:`[\w.]+`,? ?)+)", TABLE
    ):
        found[module] |= set(re.findall(r"`([\w.]+)`", functions))
    return found


def test_a_message_enters_the_modules_that_the_page_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_queue("orders")
    make_queue("DLQ", address="DLA")
    make_setting(
        "orders",
        max_delivery_attempts=2,
        redelivery_delay_ms=1000,
        dead_letter_address="DLA",
    )
    operator()
    for name in sql.FILES:  # a process reads each statement once
        sql.statement(name)
    put("orders", b"this process has put and got before", now=NOON)
    before = UnitOfWork(now=NOON)
    before.get("orders")
    before.commit()
    caches.clear()  # its settings are read on the way

    walk = Walk(monkeypatch)
    sys.setprofile(walk)
    try:
        walk_the_path()
    finally:
        sys.setprofile(None)

    page = named()
    assert set(walk.entered) - {FACE, TYPES} == set(page)
    for module, functions in page.items():
        assert functions <= walk.entered[module], module
    statements = {one for row in TABLE.splitlines() for one in last_cell(row)}
    assert walk.statements == statements


def last_cell(row: str) -> list[str]:
    return re.findall(r"`(\w+)`", row.strip("| ").rpartition("|")[2])
