"""Clients that do nothing, or settle nothing, cost a listener little."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.amqp.weighing import listening, stuck, weigh

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.long]

CONNECTIONS = 200
MOST_KIB = 150  # of a connection with three endpoints
MESSAGES = 5000  # of 1 KiB
IN_FLIGHT = 2000  # by the settings
MOST_MB = 24  # for a consumer that has these


def test_idle_connections_cost_little_and_leave_nothing(tmp_path: Path) -> None:
    with listening(tmp_path / "log") as (process, by):
        # Everything has been used once then; some of it stays open.
        asyncio.run(weigh(process, by, 20, leaves_within_s=1.0))
        weight = asyncio.run(weigh(process, by, CONNECTIONS))
    assert weight.open_kib < weight.attached_kib < MOST_KIB
    assert weight.files_left <= 0
    assert process.troubles() == []


@pytest.mark.parametrize("reads", [True, False])
def test_a_stuck_consumer_costs_what_it_may_have(
    tmp_path: Path, *, reads: bool
) -> None:
    with listening(tmp_path / "log") as (process, by):
        found = stuck(process, by, MESSAGES, reads=reads)
    assert found.got == (IN_FLIGHT if reads else 0)
    assert found.grew_mb < MOST_MB
    assert found.back == MESSAGES
    assert process.troubles() == []
