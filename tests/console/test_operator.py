"""The operator's work on a smaller graveyard; by hand it is done on a large one."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.monitoring import fsck
from tests.console.graveyard import bury
from tests.console.hands import Keyboard, Pointer
from tests.console.operator import FAILURES, console, make_omar, work
from tests.console.shop import Shop

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

LETTERS, CAUSES = 3000, 12


def test_a_cause_is_found_repaired_tried_and_taken_back_in_both_ways(
    transactional_db: None, tmp_path: Path
) -> None:
    make_omar()
    assert list(bury(LETTERS, CAUSES))[-1] == LETTERS
    assert fsck.violations() == []

    with console(tmp_path) as page:
        with Shop(FAILURES[Pointer]):
            work(Pointer(page))
        with Shop(FAILURES[Keyboard]):
            hands = work(Keyboard(page)).hands

    assert not hands.clicks, "the keyboard alone"
    assert fsck.violations() == []
