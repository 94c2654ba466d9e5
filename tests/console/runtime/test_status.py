"""``backout status``, for whoever has closed the terminal of the start."""

from __future__ import annotations

import os

import pytest
from django.db import connection

from broker.models import AddressSetting
from broker.queueing import processes
from console.runtime import status
from tests.console.commanding import refused, run, told
from tests.console.letters import die, make_places

pytestmark = pytest.mark.usefixtures("transactional_db")


def test_it_tells_what_runs_and_what_needs_somebody() -> None:
    processes.current("dispatcher")
    make_places(attempts=1)
    AddressSetting.objects.create(match="zero", max_delivery_attempts=0)
    die(attempts=1)

    found = told("status")
    said = run("status")

    assert found["processes"] == {"dispatcher": 1}
    assert (found["groups"], found["problems"]) == (1, 2)
    assert "Processes: 1 dispatcher." in said
    assert "Groups of dead letters that need attention: 1." in said
    assert f"password for an administrator: {status.NEW_PASSWORD}" in said


def test_programs_of_the_project_are_no_processes_of_the_broker() -> None:
    processes.current()
    assert status.look().processes == {}


def test_without_a_database_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as moved:
        moved.setitem(connection.settings_dict, "HOST", f"/nowhere/{os.getpid()}")
        connection.close()
        assert refused("status") == (3, status.AWAY)
    connection.close()
