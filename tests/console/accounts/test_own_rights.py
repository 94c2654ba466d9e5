"""Your rights: what one may, on which queues, why, and what the others need."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from broker.models import Authority
from broker.queueing.put import put
from broker.security import authorities, credentials
from console.accounts import own_permissions, roles
from tests.console.conftest import SignIn
from tests.console.edges.wire import text
from tests.make import make_authority, make_queue, make_user

pytestmark = pytest.mark.django_db

PAGE = reverse("console:rights")
API = "/api/v1/rights"
OF_SETTINGS = {
    *("address", "addresssetting", "authority", "modelqueue", "queue"),
    *("queuealias", "user", "group", "subscription", "redactionrule"),
    *("alertrule", "alerttarget", "recurringmessage"),
    *("crontabschedule", "periodictask"),
    *("bridge", "bridgedestination", "connectionfactory", "deadmessagequeue", "link"),
}


@pytest.fixture
def omar(client: Client) -> User:
    """Operates some queues, as the group was narrowed, and sees another."""
    Authority.objects.filter(group__name="operator").update(pattern="orders.#")
    user = make_user("omar", granted=("inquire",), pattern="pay")
    user.groups.add(Group.objects.get(name="operator"))
    for name in ("orders.new", "pay", "secret"):
        make_queue(name)
    client.force_login(user)
    return user


def words(client: Client, **query: str) -> str:
    answer = client.get(PAGE, query)
    assert answer.status_code == 200
    return text(answer.content.decode())


def told(client: Client, **query: Any) -> dict[str, Any]:
    answer = client.get(API, query)
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_it_says_what_one_may_and_who_gives_it(omar: User, client: Client) -> None:
    page = words(client)

    assert "omar, in the group operator" in page
    assert (
        "Pause, resume, reset counters yes broker.pause_queue by operator set you have"
        " it on orders.#" in page
    )
    assert "pay inquire a grant to you" in page
    assert "orders.# inquire, browse, get, put, passall, set the group operator" in page


def test_it_says_what_is_missing_and_who_has_it(sign_in: SignIn) -> None:
    page = words(sign_in("viewer"))

    assert (
        "Pause, resume, reset counters no broker.pause_queue you do not have it;"
        " operator, administrator have it set you have it on no queue" in page
    )
    assert "Approve plans of others no" in page
    assert "administrator has it nothing" in page


def test_each_authority_on_each_queue_says_by_which_pattern(
    omar: User, client: Client
) -> None:
    by_queue = {one["queue"]: one["authorities"] for one in told(client)["queues"]}

    assert by_queue.keys() == {"orders.new", "pay"}
    assert by_queue["pay"] == {
        one: ["pay by you"] if one == "inquire" else [] for one in authorities.ALL
    }
    assert by_queue["orders.new"]["set"] == ["orders.# by operator"]
    assert "pay yes by you: pay no no no no no" in words(client, q="pay")


def test_a_queue_that_one_may_not_see_is_like_none_of_its_name(
    omar: User, client: Client
) -> None:
    there, nowhere = words(client, q="secret"), words(client, q="absent")

    assert "secret no no no no no no" in there
    assert (
        there.replace("secret", "absent").partition("On each queue")[2]
        == (nowhere.partition("On each queue")[2])
    )
    assert told(client, text="secret")["queues"] == []


@pytest.mark.parametrize("role", roles.ROLES)
def test_what_is_explained_is_what_the_broker_decides(role: str) -> None:
    user = make_user(role, granted=("put",), pattern="pay.*")
    user.groups.add(Group.objects.get(name=role))
    make_authority(user, "browse", pattern="orders")
    held = authorities.held_by(user)

    grants = own_permissions.grants_of(user)

    for one in own_permissions.on_queues(grants, ["orders", "pay.in", "pay", "x.y"]):
        for authority, why in one.why.items():
            assert bool(why) == held.on(authority, one.queue)
    for possible in own_permissions.possible(user, grants):
        assert bool(possible.by) == user.has_perm(possible.deed.permission)


def test_a_credential_has_what_it_leaves_of_its_user(omar: User) -> None:
    _, secret = credentials.create("shop", omar, patterns="orders.new", may_put=False)
    machine = Client(headers={"Authorization": f"Bearer {secret}"})

    rights = told(machine)

    assert rights["name"] == "shop"
    assert rights["grants"] == [
        {
            "pattern": "orders.new",
            "authorities": ["inquire", "browse", "get"],
            "by": "operator",
        }
    ]
    pause = next(one for one in rights["deeds"] if one["authority"] == "set")
    assert not pause["is_possible"]


def test_a_superuser_may_all_and_that_is_why(client: Client) -> None:
    make_queue("orders")
    client.force_login(User.objects.create_superuser("ada"))

    rights = told(client)

    assert rights["grants"][0]["by"] == "superuser"
    assert all(one["is_possible"] for one in rights["deeds"])
    (orders,) = rights["queues"]
    assert all(orders["authorities"].values())
    assert "ada, a superuser, in no group" in words(client)


def test_queues_are_told_by_pages(omar: User, client: Client) -> None:
    first = told(client, limit=1)
    second = told(client, limit=1, after=first["next"])

    assert [one["queue"] for one in first["queues"]] == ["orders.new"]
    assert [one["queue"] for one in second["queues"]] == ["pay"]
    assert second["next"] is None


def test_every_permission_of_a_role_but_those_of_settings_is_for_some_deed() -> None:
    deeds = {deed.permission for deed in own_permissions.DEEDS}
    others = roles.ADMINISTRATOR - deeds

    assert {name.rpartition("_")[2] for name in others} <= OF_SETTINGS
    assert deeds <= roles.ADMINISTRATOR


def test_the_menu_and_every_refusal_lead_there(omar: User, client: Client) -> None:
    link = f'href="{PAGE}"'
    put("pay")
    missing = client.get("/queues/nowhere/")
    lacking = client.post("/queues/pay/pause/")
    audit = client.get("/audit/")

    statuses = [answer.status_code for answer in (missing, lacking, audit)]
    assert statuses == [404, 403, 403]
    for answer in (missing, lacking, audit):  # once in the menu, once below the words
        assert answer.content.decode().count(link) == 2
