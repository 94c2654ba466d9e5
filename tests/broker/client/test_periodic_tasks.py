"""Tasks of Django as recurring messages."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured, ValidationError

from broker.client.django_tasks import repeat
from broker.client.django_tasks.framework import BaseTaskBackend, TaskResultStatus
from broker.models import RecurringMessage
from broker.operations import recurring
from broker.sql import database_now
from tests.broker.client import sample_tasks as tasks
from tests.broker.client.test_django_tasks import use, work
from tests.make import make_queue


@pytest.fixture(autouse=True)
def backend(transactional_db: None, settings: Any) -> None:
    use(settings)
    make_queue("default")


def test_a_periodic_task_runs_when_it_is_due() -> None:
    one = repeat(tasks.add, "sums", every_s=60, args=[2], kwargs={"other": 3})
    assert recurring.put_due(limit=10) == 0, "not yet"

    RecurringMessage.objects.update(next_at=database_now())
    assert recurring.put_due(limit=10) == 1
    assert work() == 1

    one.refresh_from_db()
    result = tasks.add.get_result(str(one.last_message_id))
    assert (result.status, result.return_value) == (TaskResultStatus.SUCCESSFUL, 5)


def test_the_time_of_a_task_is_not_that_of_each_of_its_messages() -> None:
    late = database_now() + timedelta(days=1)
    one = repeat(tasks.noop.using(run_after=late), "nothing", every_s=60)
    assert "run_after" not in one.properties


def test_a_second_call_changes_only_what_is_other() -> None:
    first = repeat(tasks.noop, "nothing", crontab="0 6 * * *")
    assert first.next_at is not None
    RecurringMessage.objects.update(next_at=first.next_at - timedelta(days=1))
    first.refresh_from_db()

    assert repeat(tasks.noop, "nothing", crontab="0 6 * * *").next_at == first.next_at
    other = repeat(tasks.noop, "nothing", every_s=5)

    assert (other.pk, other.crontab, other.every_s) == (first.pk, "", 5)
    assert RecurringMessage.objects.count() == 1


@pytest.mark.parametrize(
    "rule", [{}, {"crontab": "0 6 * * *", "every_s": 5}, {"crontab": "at six"}]
)
def test_a_rule_that_cannot_be_followed_is_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        repeat(tasks.noop, "nothing", **rule)
    assert not RecurringMessage.objects.exists()


def test_arguments_have_to_be_json() -> None:
    with pytest.raises(TypeError):
        repeat(tasks.noop, "nothing", every_s=5, args=[object()])


def test_a_task_of_another_backend_is_refused(settings: Any) -> None:
    backends = BaseTaskBackend.__module__.removesuffix(".base")  # of this Django
    other = f"{backends}.dummy.DummyBackend"
    settings.TASKS = {"default": {"BACKEND": other, "QUEUES": ["default"]}}
    with pytest.raises(ImproperlyConfigured, match="'default' is not BackoutBackend"):
        repeat(tasks.noop, "nothing", every_s=5)
