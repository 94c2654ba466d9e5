"""The API's limit of requests: who is counted, together with whom, and what is said."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client
from pytest_django import Settings

from broker.models import Queue
from console.edges.rest import throttle
from console.edges.rest.throttle import AWAY_S, RequestCounts
from tests.console.conftest import SignIn

ROOT = "/api/v1"
NOBODY = "unix:///nowhere/redis.sock"


@pytest.fixture
def own_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttle.LIMIT, "counts", RequestCounts(""))
    monkeypatch.setattr(time, "time", lambda: 6_000_010.0)


def test_a_client_above_the_limit_is_told_when_to_come_back(
    sign_in: SignIn, orders: Queue, settings: Settings, own_counts: None
) -> None:
    settings.BACKOUT_API_REQUESTS_PER_MINUTE = 2
    client = sign_in("operator")

    answers = [client.get(f"{ROOT}/queues") for _ in range(3)]

    assert [one.status_code for one in answers] == [200, 200, 429]
    refused = answers[-1]
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["code"] == "too-many-requests"
    assert "2 requests a minute" in refused.json()["detail"]
    assert 0 < int(refused["Retry-After"]) <= 61
    assert sign_in("viewer").get(f"{ROOT}/queues").status_code == 200


def test_who_guesses_credentials_is_counted_by_address(
    db: None, client: Client, settings: Settings, own_counts: None
) -> None:
    settings.BACKOUT_API_REQUESTS_PER_MINUTE = 1
    guess = {"Authorization": "Bearer bo_guessed"}

    def status(address: str) -> int:
        answer = client.get(f"{ROOT}/queues", headers=guess, REMOTE_ADDR=address)
        return answer.status_code

    assert [status("192.0.2.1"), status("192.0.2.1"), status("192.0.2.2")] == [
        *(401, 429, 401)
    ]


def test_processes_count_together_and_each_minute_anew() -> None:
    one, other = RequestCounts(settings.REDIS_URL), RequestCounts(settings.REDIS_URL)
    client = f"credential {uuid4()}"
    counted = [one.add(client, 1), other.add(client, 1), one.add(client, 1)]
    assert counted == [1, 2, 3]
    assert other.add(client, 2) == 1


def test_without_redis_a_process_counts_by_itself_and_does_not_ask_again_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counts = RequestCounts(NOBODY)
    begun = time.monotonic()
    assert [counts.add("user 1", 1) for _ in range(100)] == [*range(1, 101)]
    assert time.monotonic() - begun < AWAY_S
    assert len(caplog.messages) == 1
