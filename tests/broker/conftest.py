"""Real commits and other connections, for what a rolled back test cannot show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from pytest_django import DjangoDbBlocker

from broker import owner
from tests.broker.elsewhere import Elsewhere

MAP = ["operationitem", "operation", "queue", "address", "addresssetting"]
HOT = [
    *("message", "ready", "delayed", "claim", "unit_of_work", "owner"),
    *("dead_letter", "event", "tally"),
]
TABLES = [*MAP, *HOT]


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


@pytest.fixture
def elsewhere(transactional_db: None) -> Iterator[Elsewhere]:
    other = Elsewhere()
    yield other
    other.close()


@transaction.atomic
def empty_the_broker() -> None:
    """The tally begins anew, and this process owns nothing any more."""
    assert connection.settings_dict["NAME"].startswith("test_"), "a real database"
    owner.resign()
    with connection.cursor() as cursor:
        for table in MAP:
            cursor.execute(f"DELETE FROM broker_{table}")
        # Not deleted: tests that read everything would read what is dead, too.
        cursor.execute("TRUNCATE " + ", ".join(f"broker_{table}" for table in HOT))
        cursor.execute(
            "INSERT INTO broker_watermark (reader) VALUES ('tally')"
            " ON CONFLICT (reader) DO UPDATE SET xid = 0"
        )
    User.objects.all().delete()
