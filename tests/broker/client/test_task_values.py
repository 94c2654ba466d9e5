"""What a task is called with and returns is JSON, as every reader has it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from broker.client import declare_queue
from broker.client.dispatch.handlers import Handler
from broker.client.django_tasks import running
from broker.client.django_tasks.framework import TaskResultStatus
from broker.errors.tasks import NotJson
from broker.errors.units_of_work import BackedOut
from broker.models import Ready, Returned
from broker.monitoring import fsck
from broker.transactions.scope import unit_of_work
from tests.broker.client import sample_tasks as tasks
from tests.broker.handling import handle_next

pytestmark = pytest.mark.usefixtures("transactional_db")

BACKEND = "broker.client.django_tasks.BackoutBackend"
JOINED_OR_NOT = pytest.mark.parametrize("join", [True, False])
NAN, INFINITE = float("nan"), float("inf")


@JOINED_OR_NOT
@pytest.mark.parametrize(
    ("value", "why"),
    [
        (NAN, " is nan"),
        ([1, {"price": [NAN]}], "[1].price[0] is nan"),
        ({"a": {"b": -INFINITE}}, "a.b is -inf"),
        ("\ud800", "half of a surrogate pair"),
    ],
)
def test_what_is_no_json_is_neither_called_with_nor_returned(
    value: Any, why: str, join: bool, settings: Any
) -> None:
    """It would fail in the same way each time; so it does once, and says why."""
    options = {"JOIN": join}
    settings.TASKS = {"default": {"BACKEND": BACKEND, "OPTIONS": options}}
    with pytest.raises(NotJson, match=re.escape(why)) as refused:
        tasks.echo.enqueue(value)
    assert "The arguments of the task must be JSON" in str(refused.value)
    assert not Ready.objects.exists()

    declare_queue("DLQ")
    result = tasks.give_back.enqueue(repr(value))
    handle_next(Handler("default", running.run, join, batch=1, concurrency=1))
    result.refresh()

    assert (result.status, result.attempts) == (TaskResultStatus.FAILED, 1)
    said = result.errors[0].traceback
    assert "What the task returns must be JSON:" in said
    assert why in said
    assert not Returned.objects.exists()
    assert fsck.violations() == []


def test_a_value_that_the_database_refuses_is_no_lost_lock(settings: Any) -> None:
    settings.TASKS = {"default": {"BACKEND": BACKEND}}
    tasks.noop.enqueue()
    with pytest.raises(BackedOut), unit_of_work() as unit:
        unit.get("default")
        unit.returned = "NaN"
    assert Ready.objects.get().backout_count == 1
