"""Second connections, for what a rolled back test cannot show; and what was asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from broker import sql
from tests.broker.elsewhere import Elsewhere
from tests.broker.interleavings import Explorer, Scene, Schedule, is_complete
from tests.make import make_queue, make_setting

Explore = Callable[[type[Scene]], list[Schedule]]


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The broker's own statements, by name, as they are run; Django's are not in it."""
    run, names = sql.run, list[str]()

    def noted(name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        names.append(name)
        return run(name, parameters)

    monkeypatch.setattr(sql, "run", noted)
    return names


@pytest.fixture
def elsewhere(transactional_db: None) -> Iterator[Elsewhere]:
    other = Elsewhere()
    yield other
    other.close()


@pytest.fixture
def explore(
    transactional_db: None, record_property: Callable[[str, object], None]
) -> Iterator[Explore]:
    """Runs every schedule of a scene, and says how many there are.

    The map: "orders", whose dead letters go to "DLQ" and what expires to "late", and
    "answers".
    """
    explorer = Explorer()

    def explore(scene: type[Scene]) -> list[Schedule]:
        make_queue("orders")
        make_queue("answers")
        make_queue("DLQ", address="DLA")
        make_queue("late")
        for name, fields in scene.queues.items():
            make_queue(name, **fields)
        policy = {"dead_letter_address": "DLA", "expiry_address": "late"}
        make_setting("orders", **policy | scene.settings)
        schedules = explorer.explore(scene)
        assert len(schedules) > 1
        assert is_complete(schedules)
        record_property("schedules", len(schedules))
        print(f"\n{len(schedules):4} schedules of {scene.__name__}")
        return schedules

    yield explore
    explorer.close()
