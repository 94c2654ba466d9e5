"""Groups and users under Settings: what they are offered, and what is said of them."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from console.accounts import roles
from tests.console.conftest import SignIn
from tests.console.settings_forms import send
from tests.console.test_messages import words
from tests.make import make_user


@pytest.fixture
def ada(sign_in: SignIn) -> Client:
    return sign_in("administrator")


def test_a_group_is_offered_what_some_page_asks_for(ada: Client) -> None:
    html = ada.get("/admin/auth/group/add/").content.decode()

    offered = set(re.findall(r"<option[^>]*>[^|]*\| [^|]* \| ([^<]*)<", html))
    assert "Can run reports" in offered
    assert "Can add watermark" not in offered
    assert len(offered) == len(roles.ADMINISTRATOR)


def test_a_group_keeps_a_permission_that_nothing_asks_for(ada: Client) -> None:
    group = Group.objects.get(name="viewer")
    group.permissions.add(Permission.objects.get(codename="add_watermark"))
    kept = list(group.permissions.values_list("pk", flat=True))

    send(ada, f"/admin/auth/group/{group.pk}/change/", permissions=kept)

    assert group.permissions.filter(codename="add_watermark").exists()


def test_the_list_of_users_says_in_which_groups_they_are(ada: Client) -> None:
    make_user("omar").groups.set(Group.objects.filter(name__in=["viewer", "operator"]))

    said = words(ada.get("/admin/auth/user/").content.decode())

    assert "omar operator, viewer" in said
