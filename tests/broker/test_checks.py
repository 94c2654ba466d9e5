"""What the broker refuses to run on: a server that could lose what it confirmed."""

from __future__ import annotations

import io

import pytest
from django.core.checks import run_checks
from django.core.management import (
    CommandError,
    call_command,
    get_commands,
    load_command_class,
)
from django.db import connection
from pytest_django import Settings

from broker import checks
from broker.checks import BROKER
from broker.errors import UnsafeServer

pytestmark = pytest.mark.django_db

HERE = ["default"]


@pytest.fixture
def unsafe_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that says of itself that it forgets, with a database that is in use.

    The settings cannot be changed for one session, but what answers for them can.
    """
    monkeypatch.setitem(connection.settings_dict, "NAME", "shop")
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE SCHEMA unsafe;"
            "CREATE FUNCTION unsafe.current_setting(text) RETURNS text"
            " LANGUAGE sql AS $$SELECT 'off'$$;"
            "SET LOCAL search_path = unsafe, pg_catalog, public"
        )


def test_a_server_that_keeps_its_promises_is_accepted() -> None:
    assert checks.server_keeps_what_it_confirms(databases=HERE) == []
    checks.refuse_unsafe_server()


def test_a_server_that_forgets_is_an_error(unsafe_server: None) -> None:
    found = checks.server_keeps_what_it_confirms(databases=HERE)
    assert [one.id for one in found] == ["broker.E001", "broker.E001"]
    assert found[0].msg.startswith("PostgreSQL runs with fsync = off")
    assert "full_page_writes = on" in found[1].msg


def test_a_server_of_tests_may_forget(
    unsafe_server: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "NAME", "test_shop")
    assert checks.server_keeps_what_it_confirms(databases=HERE) == []


def test_another_database_than_postgresql_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "vendor", "sqlite")
    (found,) = run_checks(tags=[BROKER])
    assert found.id == "broker.E006"
    assert checks.server_keeps_what_it_confirms(databases=HERE) == []
    assert checks.settings_are_meant(databases=HERE) == []


def test_a_process_that_is_about_to_run_refuses_such_a_server(
    unsafe_server: None,
) -> None:
    with pytest.raises(UnsafeServer) as refused:
        checks.refuse_unsafe_server()
    assert (refused.value.setting, refused.value.code) == ("fsync", "unsafe-server")


def test_a_dispatcher_says_why_it_does_not_start(unsafe_server: None) -> None:
    with pytest.raises(CommandError, match="Set fsync = on and restart it"):
        call_command("broker_dispatch", stdout=io.StringIO())


def test_a_server_that_is_too_old_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "OLDEST", 10_000_000)
    (found,) = checks.server_keeps_what_it_confirms(databases=HERE)
    assert found.id == "broker.E002"
    assert str(found.msg).startswith("PostgreSQL 15 or later is needed; this is ")


def test_only_the_databases_that_are_asked_about_are_looked_at(
    unsafe_server: None,
) -> None:
    assert checks.server_keeps_what_it_confirms() == []


def test_the_check_is_run_with_django_s_own(unsafe_server: None) -> None:
    found = run_checks(tags=["database"], databases=HERE)
    assert "broker.E001" in {one.id for one in found}


def test_no_command_loads_the_pages_to_check_them() -> None:
    ours = [
        load_command_class(application, name)
        for name, application in get_commands().items()
        if application in {"broker", "dashboards", "console"}
    ]
    assert {"broker_listen", "run_report", "backout"} <= {
        one.__module__.rpartition(".")[2] for one in ours
    }
    for one in ours:
        assert one.requires_system_checks in ([], [BROKER]), one


def test_a_command_refuses_wrong_settings(settings: Settings) -> None:
    settings.BROKER_MAX_REDELIVERY_RECORDS = -2
    with pytest.raises(CommandError, match=r"broker\.E003"):
        call_command("broker_fsck", skip_checks=False)


@pytest.mark.parametrize("wait_ms", [-1, 101, 1.5, True, "2", None])
def test_a_group_commit_that_cannot_wait_so_long_is_an_error(
    settings: Settings, wait_ms: object
) -> None:
    settings.BROKER_SETTLE_WITHIN_MS = wait_ms
    (found,) = run_checks(tags=[BROKER])
    assert found.id == "broker.E009"
    assert repr(wait_ms) in found.msg


def test_a_group_commit_waits_no_longer_than_a_tenth_of_the_lease(
    settings: Settings,
) -> None:
    settings.BROKER_SETTLE_WITHIN_MS = 100
    assert run_checks(tags=[BROKER]) == []
    settings.BROKER_TRANSACTION_TIMEOUT_S = 0.5
    (found,) = run_checks(tags=[BROKER])
    assert "0 to 50" in (found.hint or "")
