"""The operator's work on a smaller graveyard; by hand it is done on a large one."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.monitoring import fsck
from tests.console.graveyard import bury
from tests.console.hands import Keyboard, Pointer
from tests.console.operator import FAILURES, console, make_omar, work
from tests.console.shop import Shop

pytestmark = pytest.mark.browser

LETTERS, CAUSES = 3000, 12


@pytest.mark.parametrize("way", [Pointer, Keyboard], ids=["pointer", "keyboard"])
def test_a_cause_is_found_repaired_tried_and_taken_back(
    transactional_db: None, tmp_path: Path, way: type[Pointer] | type[Keyboard]
) -> None:
    make_omar()
    assert list(bury(LETTERS, CAUSES))[-1] == LETTERS
    assert fsck.violations() == []

    with console(tmp_path) as page, Shop(FAILURES[way]):
        hands = work(way(page)).hands

    assert not (way is Keyboard and hands.clicks), "the keyboard alone"
    assert fsck.violations() == []
