"""A listener lives through whatever clients send, and serves the others meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker.monitoring import fsck
from tests.amqp.fuzzing import FEW, QUEUES, Plan, fuzz
from tests.amqp.launching import launched, login
from tests.make import make_queue

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.thorough]

WARMS_UP = Plan(raw=20, lock_step=10, seed=0)
SESSIONS = Plan(raw=60, lock_step=25, seed=1)
MORE_FILES = 5
MORE_MB = 16
SERVED_WITHIN_S = 20.0  # where much else goes on


def test_hostile_sessions_hurt_nobody_but_themselves(tmp_path: Path) -> None:
    for queue in QUEUES:
        make_queue(queue)
    by = login()
    with launched(tmp_path / "log", **FEW) as process:
        fuzz(WARMS_UP, process, by)
        files, memory_mb = process.files, process.memory_mb

        found = fuzz(SESSIONS, process, by)

        assert process.is_alive
        assert process.settle_down(files) <= files + MORE_FILES
        assert process.memory_mb < memory_mb + MORE_MB
        assert found.sessions == SESSIONS.raw + SESSIONS.lock_step
        assert found.unanswered == []
        assert found.deliveries > 0, "none came as far as to a message"
        assert found.rounds > 0
        assert found.slowest_s < SERVED_WITHIN_S
    assert process.process.returncode == 0
    assert process.troubles() == []
    assert fsck.violations() == []
