"""A group that must have a second factor, and does not exist, is told under Health."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from pytest_django import Settings

from console import second_factors
from tests.console.conftest import SignIn
from tests.console.test_health import HEALTH, badge, rows, shown
from tests.make import make_queue

pytestmark = pytest.mark.django_db

API = "/api/v1/health"
Found = Callable[[], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _nothing_else_is_wrong(settings: Settings) -> None:
    make_queue(settings.BROKER_DEAD_LETTER_QUEUE)


def test_it_is_told_with_what_to_do_until_there_is_such_a_group(
    sign_in: SignIn, settings: Settings
) -> None:
    settings.BACKOUT_SECOND_FACTOR_GROUPS = ["administrators", "operator"]
    client = sign_in("administrator")

    html = shown(client)

    (row,) = rows(html)
    assert row.startswith("administrators")
    assert "BACKOUT_SECOND_FACTOR_GROUPS names the group administrators" in row
    assert "nobody is asked for a second factor" in row
    assert "Correct the name in the environment" in row
    assert f'href="{reverse("admin:auth_group_changelist")}"' in html
    assert badge(html) == "1"
    (found,) = client.get(API).json()["findings"]
    assert found["code"] == "no-such-group"
    assert found["queue"] == "administrators"
    assert found["sentence"] in row
    assert found["remedy"] in row
    assert "administrators" not in shown(client, reverse("console:queues"))
    Group.objects.create(name="administrators")
    html = shown(client)
    assert "No settings need to be fixed." in html
    assert badge(html) == ""


def test_it_is_told_on_no_queue_of_that_name(
    sign_in: SignIn, settings: Settings
) -> None:
    settings.BACKOUT_SECOND_FACTOR_GROUPS = ["orders"]
    make_queue("orders")
    client = sign_in("administrator")

    (row,) = rows(shown(client))

    assert row.startswith("orders group that does not exist")
    queue = reverse("console:queue", args=["orders"])
    assert "SECOND_FACTOR" not in shown(client, queue)


@pytest.mark.parametrize("names", [[], [""], ["superusers"], ["*", "whoever"]])
def test_words_that_stand_for_people_are_no_groups(
    settings: Settings, names: list[str]
) -> None:
    settings.BACKOUT_SECOND_FACTOR_GROUPS = names

    assert second_factors.missing_groups() == []


def test_who_manages_no_groups_is_not_told(sign_in: SignIn, settings: Settings) -> None:
    settings.BACKOUT_SECOND_FACTOR_GROUPS = ["administrators"]

    client = sign_in("operator")

    html = shown(client, HEALTH)
    assert "SECOND_FACTOR" not in html
    assert badge(html) == ""
    assert client.get(API).json()["findings"] == []
