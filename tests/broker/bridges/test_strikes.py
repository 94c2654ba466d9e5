"""Links whose process is killed, at drawn points: nothing is lost, nothing doubled.

``python -m tests.tools.bridge_faults`` does it a hundred times, with real providers.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.make import make_setting
from tests.tools.bridge_faults import strikes
from tests.tools.bridge_faults.pairs import ALL_HERE, make_pair


@pytest.mark.thorough
@pytest.mark.spec("BRIDGE-20")
def test_a_transacted_link_carries_each_message_once_whenever_it_is_killed(
    transactional_db: None,
) -> None:
    make_setting("#", max_delivery_attempts=-1)
    pair = make_pair("here", points=ALL_HERE, batch=20)
    pair.total = 400
    pair.put(0, pair.total)

    with strikes.struck() as struck:
        found = strikes.strike(pair, struck, Random(3), kills=6)
    strikes.count(pair, found)

    assert found.struck.total() == 6
    assert (found.lost, found.doubled) == (0, 0)
    assert (found.out_of_order, found.changed) == (0, 0)
