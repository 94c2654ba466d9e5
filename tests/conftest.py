"""What all tests share: real commits for those that need them, and how they end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from hypothesis import Phase
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker

from broker import arrivals, owner

MAP = [
    *("operationitem", "operation", "stoppage", "connectionconsumer", "subscription"),
    *("counterreset", "queuealias", "queue", "address", "addresssetting"),
]
HOT = [
    *("message", "ready", "delayed", "claim", "unit_of_work", "owner"),
    *("dead_letter", "discarded", "prepared_put", "event", "tally"),
]
AROUND = ("dashboards", "sessions", "axes")  # applications

# What a test draws is a matter of its code alone, so that a run can be repeated;
# --hypothesis-profile=exploring draws anew each time, and does not shrink.
hypothesis_settings.register_profile("repeatable", derandomize=True)
hypothesis_settings.register_profile(
    "exploring", derandomize=False, phases=[Phase.explicit, Phase.generate]
)
hypothesis_settings.load_profile("repeatable")

QUICK = "django.contrib.auth.hashers.MD5PasswordHasher"


def pytest_configure() -> None:
    """Passwords are hashed slowly on purpose; tests make many users."""
    settings.PASSWORD_HASHERS = [QUICK, *settings.PASSWORD_HASHERS]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """With the mark beside it, pytest-django would flush all tables after the test."""
    for item in items:
        fixtures = getattr(item, "fixturenames", [])
        if item.get_closest_marker("django_db") and "transactional_db" in fixtures:
            raise pytest.UsageError(
                f"{item.nodeid} commits by transactional_db and is marked django_db:"
                " take the mark away."
            )


@pytest.fixture(scope="session", autouse=True)
def _owner_leaves_before_the_database(django_db_setup: None) -> Iterator[None]:
    """The owner's own connection would keep the test database from being dropped."""
    yield
    owner.resign()


@pytest.fixture(autouse=True)
def _nothing_is_said_to_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of arrivals across processes start their own."""
    monkeypatch.setattr(arrivals.Arrivals, "say", lambda *_: None)


@pytest.fixture
def transactional_db(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Commits are real, on a broker that is empty before and after.

    In place of the fixture of this name that flushes: a flush knows only the tables
    that Django manages, and takes what the migrations have put into them.
    """
    with django_db_blocker.unblock():
        empty_the_broker()
        yield
        empty_the_broker()


@transaction.atomic
def empty_the_broker() -> None:
    """The tally begins anew, and this process owns nothing any more."""
    assert connection.settings_dict["NAME"].startswith("test_"), "a real database"
    owner.resign()
    with connection.cursor() as cursor:
        for table in MAP:
            cursor.execute(f"DELETE FROM broker_{table}")
        cursor.execute("DELETE FROM broker_modelqueue WHERE name NOT LIKE 'SYSTEM.%'")
        # Not deleted: tests that read everything would read what is dead, too.
        cursor.execute("TRUNCATE " + ", ".join(f"broker_{table}" for table in HOT))
        cursor.execute(
            "INSERT INTO broker_watermark (reader) VALUES ('tally')"
            " ON CONFLICT (reader) DO UPDATE SET xid = 0"
        )
    for label in AROUND:
        for model in apps.get_app_config(label).get_models():
            model._base_manager.all().delete()
    User.objects.all().delete()
