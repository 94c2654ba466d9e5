"""What all tests share: real commits for those that need them, and how they end."""

from __future__ import annotations

import gc
import logging
import math
import os
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection, transaction
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker

from broker.config import system_queues
from broker.models import Address, Owner, Queue
from broker.monitoring.search import pages
from broker.queueing import notifications, processes
from broker.transactions import put_only
from console.alerts import causes
from dashboards.live import ages, attention, link_status, problems
from dashboards.live import cache as live_cache
from tests.examples import PART
from tests.make import make_queue

# What hears of the tests of all processes has to be known where none is collected.
pytest_plugins = ["tests.amqp.clients.cases", "tests.progress"]

MAP = [
    *("alertrule_targets", "alertrule_escalate_to", "alertnotice", "alertevent"),
    *("alertsilence", "alert", "alertrule", "alerttarget"),
    *("seenmessage", "branch", "linkstatus", "bridgeprocess", "link"),
    *("deadmessagequeue", "bridgedestination", "connectionfactory", "bridge"),
    *("deadlettergroup", "ruleattempt", "rulepass", "ruletable"),
    *("clientendpoint", "clientconnection", "credential", "keptanswer"),
    *("approval", "operationpatch", "operationitem", "course", "experience"),
    *("operation", "stoppage", "connectionconsumer", "handlerlimit", "subscription"),
    *("historysample", "historytotals", "held"),
    *(
        "auditcheck",
        "recurringmessage",
        "redactionrule",
        "counterreset",
        "queuealias",
        "binding",
        "queue",
        "address",
        "addresssetting",
    ),
]
HOT = [
    *("message", "ready", "delayed", "claim", "unit_of_work", "owner"),
    *("dead_letter", "discarded", "annotations", "returned", "prepared_put"),
    *("event", "tally"),
]
KEPT = "audit"  # by triggers, from all but the owner of the database
# The model queues that migrations make.
MODELS = ["SYSTEM.DURABLE.MODEL.QUEUE", "SYSTEM.NDURABLE.MODEL.QUEUE"]
AROUND = (
    "console",
    "dashboards",
    "sessions",
    "axes",
    "mfa",
    "socialaccount",
)  # applications
# Fixtures of more than one module that take seconds to start.
SHARED = ("spark", "site", "amq", "rmq", "the_other")
WITH_PAGES = """
    SELECT oid::regclass::text FROM pg_class
    WHERE relkind = 'r' AND pg_relation_size(oid) > 0
      AND coalesce(pg_partition_root(oid), oid) = ANY (%s::regclass[])
"""

# What a test draws is a matter of its code alone, so that a run can be repeated;
# --hypothesis-profile=exploring draws anew each time, and does not shrink.
# Both "thorough" and "exploring" draw all examples, as tests.examples says.
# How long it takes is a matter of what else the machine does.
UNTIMED: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow],
}
hypothesis_settings.register_profile("thorough", derandomize=True, **UNTIMED)
hypothesis_settings.register_profile(
    "repeatable",
    hypothesis_settings.get_profile("thorough"),
    max_examples=hypothesis_settings.get_profile("thorough").max_examples // PART,
)
hypothesis_settings.register_profile(
    "exploring",
    derandomize=False,
    phases=[Phase.explicit, Phase.generate],
    **UNTIMED,
)
hypothesis_settings.load_profile("repeatable")

QUICK = "django.contrib.auth.hashers.MD5PasswordHasher"


def pytest_configure() -> None:
    """Passwords are hashed slowly on purpose; tests make many users.

    Tests start dozens of processes. These keep their bytecode below ``VAR_DIR``, also
    where Python is told to write none: compiling is two thirds of a start.
    """
    settings.PASSWORD_HASHERS = [QUICK, *settings.PASSWORD_HASHERS]
    if sys.dont_write_bytecode:
        os.environ["PYTHONDONTWRITEBYTECODE"] = ""
        os.environ["PYTHONPYCACHEPREFIX"] = str(settings.VAR_DIR / "bytecode")


def pytest_unconfigure() -> None:
    """What tests have left of units of work ends with their database: nothing is told
    of it behind the summary."""
    logging.getLogger("broker.transactions.skipped").disabled = True


@pytest.hookimpl(trylast=True)  # after whoever shuffles
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that share what takes long to start come one after the other, so that one
    process of tests starts it, and once; and first, as do those that are thorough, so
    that the end waits for none.

    With its mark, pytest-django would flush all tables after one that commits.
    """
    items.sort(key=lambda item: (first_shared(item), not is_thorough(item)))
    for item in items:
        if asks("db", item) and asks("transactional_db", item):
            raise pytest.UsageError(
                f"{item.nodeid} commits, and asks for db: then all tables are flushed."
                " Ask for transactional_db alone."
            )
        for mark in item.iter_markers("django_db"):
            if mark.kwargs.get("transaction") or asks("transactional_db", item):
                raise pytest.UsageError(
                    f"{item.nodeid} commits: take its mark django_db away, and ask for"
                    " transactional_db."
                )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[
    None, pytest.TestReport, pytest.TestReport
]:
    """What a test has logged may be no text; other processes are told it in UTF-8."""
    report = yield
    report.sections = [
        (name, content.encode(errors="backslashreplace").decode())
        for name, content in report.sections
    ]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A console that is kept running for the next tests works on the same database: it
    ends before a test of another module that asks for none, whichever was to be next.
    """
    kept = getattr(sys.modules.get("tests.console.conftest"), "KEPT", None)
    module = item.nodeid.partition("::")[0]
    if kept is None or not kept.url:
        return
    if asks("site", item):
        kept.module = module
    elif module != kept.module:
        kept.stop()


@pytest.fixture
def orders(db: None) -> Queue:
    return make_queue("orders")


def first_shared(item: pytest.Item) -> int:
    """Which of them a test uses; the number of all for one that uses none."""
    used = (number for number, one in enumerate(SHARED) if asks(one, item))
    return next(used, len(SHARED))


def is_thorough(item: pytest.Item) -> bool:
    return item.get_closest_marker("thorough") is not None


def asks(fixture: str, item: pytest.Item) -> bool:
    return fixture in getattr(item, "fixturenames", [])


@pytest.fixture(scope="session", autouse=True)
def _the_broker_is_empty(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """Tests make the queues that they are about; that of the defaults too."""
    processes.AT_START.remove(system_queues.make_missing)
    if not connection.settings_dict["NAME"].startswith("test_"):
        return  # no test of this run needs a database
    with django_db_blocker.unblock():
        Queue.objects.all().delete()
        Address.objects.all().delete()


@pytest.fixture(scope="session", autouse=True)
def _owner_leaves_before_the_database(django_db_setup: None) -> Iterator[None]:
    """The owner's own connection would keep the test database from being dropped."""
    yield
    processes.resign()


@pytest.fixture(autouse=True)
def _nothing_is_said_to_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests of arrivals across processes start their own."""
    monkeypatch.setattr(notifications.Arrivals, "say", lambda *_: None)


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pages keep for some seconds is of another test; no look is slow.

    Within a test it is kept however long that takes: who counts queries counts alike.
    """
    cache.clear()
    monkeypatch.setattr(live_cache, "QUICK_S", math.inf)
    monkeypatch.setattr(live_cache, "BRIEF_S", math.inf)
    monkeypatch.setattr(pages, "monotonic", lambda: 0.0)  # nor does a search stop early
    monkeypatch.setattr("console.messages.pages.search.QUICK_S", math.inf)
    for keeper in (ages, attention, causes, link_status):
        monkeypatch.setattr(keeper, "KEPT_S", math.inf)
    monkeypatch.setattr(problems, "KEPT_S", dict.fromkeys(problems.KEPT_S, math.inf))


@pytest.fixture
def caplog(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """Without what is logged when the garbage of earlier tests is collected, such as
    units of work that they dropped."""
    gc.collect()
    return caplog


@pytest.fixture(scope="session")
def _commits_are_quick(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """They do not wait for the disk, whoever commits in the database of the tests: no
    test lets its server crash. Those of crashes have a server of their own."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        cursor.execute("SET synchronous_commit = off")
        empty_the_broker()  # of a run that was killed, where the database is kept


@pytest.fixture
def transactional_db(
    _commits_are_quick: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """Commits are real, on a broker that is empty before and after.

    In place of the fixture of this name that flushes: a flush knows only the tables
    that Django manages, and takes what the migrations have put into them.
    """
    with django_db_blocker.unblock():
        if Owner.objects.exists():  # a test that is rolled back leaves it, too
            empty_the_broker()
        yield
        empty_the_broker()
        forget_units_of_work()


def forget_units_of_work() -> None:
    """A thread would write what a test has left of them, while the next may not."""
    watch = put_only.here()
    with watch.lock:
        watch.works.clear()


@transaction.atomic
def empty_the_broker() -> None:
    """The tally begins anew, and this process owns nothing any more."""
    assert connection.settings_dict["NAME"].startswith("test_"), "a real database"
    processes.resign()
    tables = [f"broker_{table}" for table in MAP]
    for label in AROUND:
        tables += [
            one._meta.db_table for one in apps.get_app_config(label).get_models()
        ]
    with connection.cursor() as cursor:
        cursor.execute(";".join(f"DELETE FROM {table}" for table in tables))
        cursor.execute("DELETE FROM broker_modelqueue WHERE name <> ALL (%s)", [MODELS])
        # Not deleted: tests that read everything would read what is dead, too. An empty
        # table is as long in truncating as a full one, and most are empty.
        cursor.execute(WITH_PAGES, [[f"broker_{table}" for table in (*HOT, KEPT)]])
        if used := [table for (table,) in cursor]:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute("TRUNCATE " + ",".join(used))
            cursor.execute("SET LOCAL session_replication_role = origin")
        cursor.execute("DELETE FROM broker_watermark WHERE reader <> 'tally'")
        cursor.execute(
            "INSERT INTO broker_watermark (reader) VALUES ('tally')"
            " ON CONFLICT (reader) DO UPDATE SET xid = 0"
        )
    User.objects.all().delete()
