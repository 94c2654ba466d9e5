"""A database that is away: pages, parts of pages and the API tell when to retry."""

from __future__ import annotations

import json

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from broker.security import authorities
from tests.console.conftest import SignIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(sign_in: SignIn, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Client:
    """Her requests meet a database that has gone."""
    client = sign_in("administrator")
    client.raise_request_exception = False

    def lost(*_: object) -> None:
        raise OperationalError("the connection is lost: password=hunter2")

    monkeypatch.setattr(authorities, "held_by", lost)
    return client


def test_a_page_says_that_the_database_is_away(ada: Client) -> None:
    answer = ada.get(reverse("console:queues"))

    assert answer.status_code == 503
    assert answer["Retry-After"] == "5"
    assert "The database does not answer" in answer.content.decode()
    assert "hunter2" not in answer.content.decode()


def test_a_part_of_a_page_is_a_sentence(ada: Client) -> None:
    answer = ada.get(reverse("console:queues"), headers={"HX-Request": "true"})

    assert answer.status_code == 503
    assert answer.content.decode().startswith("The database does not answer")


def test_the_api_answers_problem_details(ada: Client) -> None:
    answer = ada.get("/api/v1/queues")

    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer["Content-Type"] == "application/problem+json"
    told = json.loads(answer.content)
    assert (told["status"], told["code"]) == (503, "unavailable")
    assert "hunter2" not in answer.content.decode()


def test_another_error_is_no_reason_to_retry(
    ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("hunter2")

    monkeypatch.setattr(authorities, "held_by", broken)

    page, api = ada.get(reverse("console:queues")), ada.get("/api/v1/queues")

    assert (page.status_code, api.status_code) == (500, 500)
    assert "Retry-After" not in page.headers
    assert json.loads(api.content)["code"] == "unexpected-error"
    assert "hunter2" not in page.content.decode() + api.content.decode()
