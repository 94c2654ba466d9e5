"""Probes: alive without a database, ready with all that is needed, numbers for few."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django import Settings

from broker.errors import UnsafeServer
from broker.monitoring import disk
from broker.security.authorities import NOTHING
from console.home.pages import probes
from console.layout import settings_problems
from dashboards.metrics import collector
from tests.make import make_queue, make_user


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> None:
    cache.delete(collector.KEY)


def test_a_process_that_lives_says_so_without_a_database(client: Client) -> None:
    answer = client.get("/healthz")  # no fixture lets it reach one

    assert (answer.status_code, answer.json()) == (200, {"alive": True})
    assert "no-store" in answer["Cache-Control"]
    assert client.post("/healthz").status_code == 405


@pytest.mark.django_db
def test_a_process_that_can_work_is_ready(client: Client) -> None:
    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()) == (200, {"ready": True, "missing": []})


@pytest.mark.django_db
def test_it_is_not_ready_before_all_migrations_are_applied(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = {*probes.known_migrations(), ("broker", "9999_of_new_code")}
    monkeypatch.setattr(probes, "known_migrations", lambda: more)

    answer = client.get("/readyz")

    assert answer.status_code == 503
    sentence = answer.json()["missing"][0]
    assert sentence == (
        "Migration broker.9999_of_new_code is not applied; run manage.py migrate."
    )


@pytest.mark.django_db
def test_it_is_not_ready_on_a_server_that_forgets(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("broker.checks.setting", lambda *_: "off")

    answer = client.get("/readyz")

    assert answer.status_code == 503
    assert answer.json()["missing"] == [str(UnsafeServer("fsync"))]


def test_it_does_not_tell_where_a_database_is_that_does_not_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise OperationalError("connection to server at 10.1.2.3, user backout, failed")

    monkeypatch.setattr(MigrationRecorder, "applied_migrations", away)
    monkeypatch.setattr("dashboards.metrics.collector.of_queues", away)
    monkeypatch.setattr("broker.monitoring.search.patiently", away)

    for where in ("/readyz", "/metrics"):
        answer = client.get(where)
        assert answer.status_code == 503
        assert probes.NO_DATABASE in answer.content.decode()
        assert "10.1.2.3" not in answer.content.decode()


@pytest.mark.django_db
def test_the_numbers_are_for_this_machine(client: Client) -> None:
    answer = client.get("/metrics")

    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert "backout_queues 0.0" in answer.content.decode()
    assert client.get("/metrics", REMOTE_ADDR="::1").status_code == 200


@pytest.mark.parametrize(
    "where",
    [
        {"REMOTE_ADDR": "10.1.2.3"},
        {"REMOTE_ADDR": ""},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "10.1.2.3"},
        {"REMOTE_ADDR": "127.0.0.1", "HTTP_FORWARDED": "for=10.1.2.3"},
    ],
)
def test_other_machines_get_no_numbers_without_a_token(
    client: Client, where: dict[str, str]
) -> None:
    answer = client.get("/metrics", **where)  # type: ignore[arg-type]

    assert answer.status_code == 403
    assert "BACKOUT_METRICS_TOKEN" in answer.content.decode()


@pytest.mark.django_db
def test_with_a_token_it_is_the_token_that_counts(
    client: Client, settings: Settings
) -> None:
    make_queue("orders")
    settings.BACKOUT_METRICS_TOKEN = "s3cret"
    away = {"REMOTE_ADDR": "10.1.2.3"}

    right = client.get("/metrics", headers={"Authorization": "Bearer s3cret"}, **away)  # type: ignore[arg-type]
    wrong = client.get("/metrics", headers={"Authorization": "Bearer s3creT"})
    without = client.get("/metrics")

    assert right.status_code == 200
    assert 'backout_queue_messages{queue="orders",state="ready"} 0.0' in (
        right.content.decode()
    )
    assert [wrong.status_code, without.status_code] == [401, 401]
    assert without["WWW-Authenticate"] == 'Bearer realm="metrics"'


@pytest.mark.django_db
def test_a_database_that_never_answers_is_told_in_time(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    thawed = threading.Event()
    monkeypatch.setattr(probes, "DEADLINE_S", 0.2)
    monkeypatch.setattr(probes, "lacks", lambda: [str(thawed.wait(60))])
    began_s = time.monotonic()

    frozen = [client.get("/readyz") for _ in range(2)]

    assert [one.status_code for one in frozen] == [503, 503]
    assert frozen[0].json()["missing"] == [probes.NO_DATABASE]
    assert time.monotonic() - began_s < 5
    thawed.set()
    monkeypatch.undo()
    assert client.get("/readyz").status_code == 200


@pytest.fixture
def disk_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Makes so many percent of a disk free, whatever this machine has."""

    def have(percent: int) -> None:
        found = disk.Disk("/var/lib/backout", 100 * 2**30, percent * 2**30)
        monkeypatch.setattr(disk, "look", lambda: found)

    return have


@pytest.mark.django_db
def test_a_disk_that_fills_is_told_before_it_is_full(
    client: Client, disk_of: Callable[[int], None]
) -> None:
    seen = {}
    for percent in (50, 9, 1):
        disk_of(percent)
        cache.clear()
        found = settings_problems.all_for(make_user(f"u{percent}"), NOTHING)
        answer = client.get("/readyz")
        seen[percent] = [one.code for one in found], answer.status_code
    assert seen == {50: ([], 200), 9: (["disk-fills"], 200), 1: (["disk-fills"], 503)}
    assert answer.json()["missing"] == [
        "The disk of /var/lib/backout is nearly full: 1.0 % (1.0 GiB) is free."
    ]
    told = client.get("/metrics").content.decode()
    assert 'backout_disk_bytes{kind="free"} 1.073741824e+09' in told


@pytest.mark.django_db
def test_the_disk_is_the_one_of_the_data_and_is_switched_off_by_zero(
    settings: Settings, tmp_path: Path
) -> None:
    settings.VAR_DIR = tmp_path
    found = disk.look()
    assert found is not None
    assert found.path == str(tmp_path)
    assert 0 <= found.free <= found.total

    settings.BACKOUT_DISK_LOW_PERCENT = settings.BACKOUT_DISK_FULL_PERCENT = 0.0
    full = disk.Disk("/", 100, 0)
    assert not full.is_low
    assert not full.is_full
    settings.VAR_DIR = tmp_path / "missing"
    assert disk.look() is None
