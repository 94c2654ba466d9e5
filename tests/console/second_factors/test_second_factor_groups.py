"""A group that must have a second factor, and does not exist, is told under Health."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.checks import run_checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.urls import reverse
from pytest_django import Settings

from console import second_factors
from console.asgi import require_start
from tests.console.conftest import SignIn
from tests.console.home.test_health import HEALTH, badge, rows, shown
from tests.console.second_factors.factors import give_app
from tests.make import make_queue, make_user

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
    give_app(User.objects.get(username="administrator"))

    html = shown(client)

    (row,) = rows(html)
    assert row.startswith("administrators")
    assert "BACKOUT_SECOND_FACTOR_GROUPS names the group administrators" in row
    assert "until it does, every user needs a second factor" in row
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
    give_app(User.objects.get(username="administrator"))

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
    give_app(User.objects.get(username="operator"))

    html = shown(client, HEALTH)
    assert "SECOND_FACTOR" not in html
    assert badge(html) == ""
    assert client.get(API).json()["findings"] == []


def test_a_missing_group_exempts_nobody(settings: Settings) -> None:
    settings.BACKOUT_SECOND_FACTOR_GROUPS = ["payroll", "superusers"]
    pay = Group.objects.create(name="payroll")
    member, other = make_user("ada"), make_user("omar")
    member.groups.add(pay)
    assert second_factors.must_have_one(member)
    assert not second_factors.must_have_one(other)

    pay.delete()

    assert second_factors.must_have_one(member)
    assert second_factors.must_have_one(other)


def test_a_misspelt_group_keeps_the_pages_from_starting(settings: Settings) -> None:
    settings.BACKOUT_SECOND_FACTOR_GROUPS = ["administrators"]

    (error,) = run_checks(tags=["start"], include_deployment_checks=True)

    assert "names the group administrators, which does not exist" in error.msg
    assert "administrator, auditor, operator, viewer" in (error.hint or "")
    with pytest.raises(SystemExit, match="the group administrators"):
        require_start()
    with pytest.raises(SystemCheckError, match="the group administrators"):
        call_command("broker_listen", port=0)
    settings.BACKOUT_SECOND_FACTOR_GROUPS = ["administrator"]
    require_start()
