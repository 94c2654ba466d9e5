"""Saved views through the API: the same as on pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from broker.models import Act, AuditRecord
from console.accounts import roles
from console.messages import acts
from console.models import SavedView
from tests.console.conftest import SignIn
from tests.console.dead_letters.test_api_groups import call
from tests.make import make_user

EVERY = "/api/v1/views"
DEAD: dict[str, Any] = {"name": "Dead ones", "filter": ["is:dead", "row"]}

NO_TIME = {"created_at": ""}  # reads have it to the millisecond


@pytest.fixture
def olga(db: None) -> Client:
    other = Client()
    other.force_login(make_user("olga", permissions=tuple(roles.VIEWER)))
    return other


def test_a_view_is_saved_changed_and_deleted(sign_in: SignIn) -> None:
    client = sign_in("viewer")

    made = call(client, "POST", EVERY, **DEAD)

    assert made | NO_TIME == {
        "slug": "dead-ones",
        "name": "Dead ones",
        "filter": ["state:dead", "row"],
        "owner": "viewer",
        "is_shared": False,
        "created_at": "",
    }
    (found,) = call(client, "GET", EVERY)["views"]
    assert found | NO_TIME == made | NO_TIME
    one = f"{EVERY}/dead-ones"
    changed = call(client, "PUT", one, name="Dead and ours", is_shared=True)
    assert (changed["slug"], changed["name"]) == ("dead-ones", "Dead and ours")
    assert call(client, "GET", one) | NO_TIME == changed | NO_TIME
    assert call(client, "DELETE", one) == changed
    call(client, "GET", one, status=404)
    acts = AuditRecord.objects.order_by("pk").values_list("act", flat=True)
    assert list(acts)[-3:] == [Act.CREATE, Act.CHANGE, Act.DELETE]


def test_a_view_is_its_owner_s_until_it_is_shared(
    sign_in: SignIn, olga: Client
) -> None:
    client = sign_in("viewer")
    call(client, "POST", EVERY, **DEAD)
    call(client, "POST", EVERY, name="Ours", filter=["state:ready"], is_shared=True)

    assert [one["name"] for one in call(olga, "GET", EVERY)["views"]] == ["Ours"]
    call(olga, "GET", f"{EVERY}/dead-ones", status=404)
    assert call(olga, "GET", f"{EVERY}/ours")["owner"] == "viewer"
    for slug in ("ours", "dead-ones"):
        call(olga, "PUT", f"{EVERY}/{slug}", name="x", is_shared=False, status=404)
        call(olga, "DELETE", f"{EVERY}/{slug}", status=404)
    assert SavedView.objects.count() == 2


def test_what_cannot_be_saved_is_refused(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = sign_in("viewer")
    call(client, "POST", EVERY, **DEAD)

    again = call(client, "POST", EVERY, **DEAD, status=422)
    assert "You have a view of this name." in again["detail"]
    assert again["errors"][0]["where"] == ["body", "name"]
    wrong = DEAD | {"name": "Wrong", "filter": ["stat:dead"]}
    assert call(client, "POST", EVERY, **wrong, status=400)["errors"]
    blank = DEAD | {"name": "  "}
    assert (
        "Give the view a name."
        in (call(client, "POST", EVERY, **blank, status=422)["detail"])
    )
    monkeypatch.setattr(acts, "MOST", 1)
    more = call(client, "POST", EVERY, **DEAD | {"name": "More"}, status=422)
    assert "You have 1 views. Delete one first." in more["detail"]
    assert SavedView.objects.count() == 1
