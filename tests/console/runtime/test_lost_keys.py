"""A key that is lost is told: at start, by checks, and on the page of health."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.fernet import Fernet
from django.core.checks import run_checks
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from broker.bridges.config import edits
from broker.models import Bridge
from console.runtime import first_run, keys
from tests.broker.bridges.making import factory
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words

pytestmark = pytest.mark.django_db

SENTENCE = "The password of the connection factory bridge: mq cannot be decrypted"
HEALTH = reverse("console:health")


@pytest.fixture
def _lost(settings: Settings) -> None:
    settings.BACKOUT_SECRET_KEYS = [Fernet.generate_key().decode()]
    edits.save(bridge := Bridge(name="bridge"))
    made = factory(bridge, "mq", "amqp", username="shop")
    edits.save(made, password="s3same")
    settings.BACKOUT_SECRET_KEYS = [Fernet.generate_key().decode()]


def told_at_start() -> list[str]:
    said: list[str] = []
    first_run.tell_lost_passwords(said.append)
    return said


def checked() -> list[str]:
    found = run_checks(databases=["default"])
    return [str(one.msg) for one in found if one.id == "broker.secrets-lost"]


@pytest.mark.usefixtures("_lost")
def test_a_lost_key_is_told_at_start_and_by_checks() -> None:
    (said,) = told_at_start()

    assert said.startswith(
        "The passwords of these connection factories cannot be decrypted: bridge: mq."
    )
    assert checked() == [said]
    assert "s3same" not in said


def test_nothing_is_told_where_nothing_is_lost(ada: Client) -> None:
    edits.save(bridge := Bridge(name="bridge"))
    edits.save(factory(bridge, "mq", "amqp", username="shop"), password="s3same")

    assert told_at_start() == checked() == []
    assert SENTENCE not in ada.get(HEALTH).content.decode()


def test_keys_that_are_none_are_told(settings: Settings) -> None:
    settings.BACKOUT_SECRET_KEYS = ["secret"]

    assert "must be Fernet keys" in run_errors()[0]


def run_errors() -> list[str]:
    return [str(one.msg) for one in run_checks() if one.id == "broker.E005"]


@pytest.mark.usefixtures("_lost")
def test_health_says_so_to_those_who_can_mend_it(ada: Client, sign_in: SignIn) -> None:
    page = ada.get(HEALTH)

    said = words(page.content.decode())
    assert f"bridge: mq connection factory {SENTENCE}" in said
    assert "or enter the password anew." in said
    (found,) = [
        one for one in page.context["findings"] if one.thing == "connection factory"
    ]
    assert found.places[0].url.startswith("/admin/broker/connectionfactory/")
    assert SENTENCE not in words(sign_in("viewer").get(HEALTH).content.decode())


def test_keys_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret_keys"
    keys.make_secret_keys(path)
    key = path.read_text()

    keys.make_secret_keys(path)

    assert path.read_text() == key
    assert path.stat().st_mode & 0o077 == 0
    Fernet(key.strip())
