"""Times of the broker's rows have their offset, whatever the project's settings are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from django.apps import apps
from django.db import connection, models
from django.db.models import Min
from django.test import override_settings

from broker.client import put
from broker.models import Delayed, RecurringMessage
from broker.models.moment_field import MomentField
from broker.operations import queue_pause
from broker.sql import database_now
from tests.make import make_queue

# New York's clocks show 01:30 twice in this night.
FIRST, SECOND = (datetime(2090, 11, 5, hour, 30, tzinfo=UTC) for hour in (5, 6))
PROJECTS = [
    {"USE_TZ": False, "TIME_ZONE": "America/New_York"},
    {"USE_TZ": False, "TIME_ZONE": "UTC"},
    {"USE_TZ": True, "TIME_ZONE": "America/New_York"},
    {"USE_TZ": False, "TIME_ZONE": "Asia/Kolkata"},
]


@pytest.fixture(params=PROJECTS, ids=lambda one: f"{one['USE_TZ']}-{one['TIME_ZONE']}")
def _project(request: pytest.FixtureRequest, db: None) -> Iterator[None]:
    with override_settings(**request.param):
        yield


@pytest.mark.usefixtures("_project")
@pytest.mark.parametrize("due", [FIRST, SECOND])
def test_a_time_is_read_as_it_was_stored(due: datetime) -> None:
    make_queue("orders")
    put("orders", deliver_at=due)
    one = Delayed.objects.get()
    (listed,) = Delayed.objects.values_list("due_at", flat=True)
    least = Delayed.objects.aggregate(least=Min("due_at"))["least"]
    assert [one.due_at, listed, least] == [due] * 3
    assert one.due_at.tzinfo == listed.tzinfo == UTC
    assert one.expires_at is None


@pytest.mark.usefixtures("_project")
def test_what_has_a_time_works() -> None:
    queue = make_queue("orders")
    queue_pause.pause("orders", until=SECOND)
    queue.refresh_from_db()
    assert queue.paused_until == SECOND
    daily = RecurringMessage(name="daily", address="orders", crontab="0 6 * * *")
    daily.save()
    daily.refresh_from_db()
    assert daily.next_at is not None
    assert database_now() < daily.next_at
    assert daily.next_at.hour == 6


def test_each_moment_of_the_broker_has_this_type() -> None:
    plain = {
        f"{model.__name__}.{field.name}"
        for model in apps.get_app_config("broker").get_models()
        for field in model._meta.get_fields()
        if isinstance(field, models.DateTimeField)
        and not isinstance(field, MomentField)
    }
    assert plain == set()


@pytest.mark.django_db
def test_the_usual_settings_pay_nothing_for_it() -> None:
    field = Delayed._meta.get_field("due_at")
    assert field.get_db_converters(connection) == []
