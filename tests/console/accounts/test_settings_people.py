"""Groups and users under Settings: what they are offered, and what is said of them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from console.accounts import roles
from console.models import BrowserSession
from tests.console.configuration.settings_forms import fields_of, send
from tests.console.configuration.test_audited_settings import split_moments
from tests.console.messages.test_messages import words
from tests.make import make_user


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


PASSWORD = {"password1": "battery staple 7", "password2": "battery staple 7"}


def change(client: Client, user: User, **fields: Any) -> int:
    """Change an account as a browser does, and with fields that its form lacks."""
    path = f"/admin/auth/user/{user.pk}/change/"
    shown = fields_of(client, path) | split_moments(user)
    return client.post(path, shown | fields).status_code


def test_only_a_superuser_makes_a_superuser(ada: Client) -> None:
    herself = User.objects.get(username="administrator")
    unheld = Permission.objects.get(codename="add_watermark")
    strong = Group.objects.create(name="strong")
    strong.permissions.add(unheld)

    change(ada, herself, is_superuser="on")
    change(ada, herself, user_permissions=[unheld.pk])
    change(ada, herself, groups=[strong.pk])

    herself = User.objects.get(pk=herself.pk)
    assert not herself.is_superuser
    assert not herself.groups.filter(pk=strong.pk).exists()
    assert not herself.has_perm("broker.add_watermark")


def test_a_group_is_given_no_permission_that_its_giver_lacks(ada: Client) -> None:
    group = Group.objects.get(name="viewer")
    unheld = Permission.objects.get(codename="add_watermark")
    Group.objects.create(name="strong").permissions.add(unheld)

    path = f"/admin/auth/group/{group.pk}/change/"
    ada.post(path, {"name": "viewer", "permissions": [unheld.pk]})

    assert not group.permissions.filter(pk=unheld.pk).exists()


@pytest.mark.parametrize("active", [True, False])
def test_the_account_of_a_superuser_is_changed_by_superusers_only(
    ada: Client, active: bool
) -> None:
    root = User.objects.create_superuser("root", password="horse battery 9")
    User.objects.filter(pk=root.pk).update(is_active=active)
    before = User.objects.values().get(pk=root.pk)
    BrowserSession.objects.create(
        user=root, session_key="k", expire_date=root.date_joined
    )
    pages = f"/admin/auth/user/{root.pk}"

    answers = [
        ada.post(f"{pages}/password/", PASSWORD | {"usable_password": "true"}),
        ada.post(f"{pages}/change/", {"username": "root", "is_active": ""}),
        ada.post(f"{pages}/delete/", {"post": "yes"}),
    ]
    chosen = {"action": "delete_selected", "_selected_action": [root.pk], "post": "y"}
    ada.post("/admin/auth/user/", chosen)
    chosen["action"] = "reset_second_factor"
    said = words(ada.post("/admin/auth/user/", chosen, follow=True).content.decode())

    assert [one.status_code for one in answers] == [403, 403, 403]
    assert User.objects.values().get(pk=root.pk) == before
    assert "second factor of root was not reset" in said
    assert BrowserSession.objects.filter(user=root).exists()


def test_an_account_with_more_permissions_is_not_taken_over(ada: Client) -> None:
    strong = make_user("strong", permissions=("broker.add_watermark",))
    weak = make_user("weak")
    new = PASSWORD | {"usable_password": "true"}

    refused = ada.post(f"/admin/auth/user/{strong.pk}/password/", new)
    done = ada.post(f"/admin/auth/user/{weak.pk}/password/", new)

    assert (refused.status_code, done.status_code) == (403, 302)


def test_a_superuser_makes_superusers(client: Client, db: None) -> None:
    client.force_login(User.objects.create_superuser("root"))
    weak = make_user("weak")

    assert change(client, weak, is_superuser="on") == 302

    assert User.objects.get(pk=weak.pk).is_superuser
