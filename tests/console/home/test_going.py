"""Going somewhere by its name: the search in the bar, with and without scripts."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from broker.acts import ACTS, DeclaredAct
from console.home.pages import palette as go_to
from console.layout.destinations import DESTINATIONS
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import EVIL, words
from tests.make import make_queue, make_user

pytestmark = pytest.mark.django_db
GO = "/go/"
SEEING = ("broker.view_queue", "broker.view_link", "broker.view_credential")
ACTION = ">action<"
LISTED = "choose on "


def found(client: Client, wanted: str) -> str:
    answer = client.get(GO, {"q": wanted}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    html = answer.content.decode()
    assert "<html" not in html
    return html


def goes_to(client: Client, wanted: str) -> str:
    answer = client.get(GO, {"q": wanted})
    assert answer.status_code == 302
    return str(answer["Location"])


def test_the_bar_has_a_search_that_needs_no_script(sign_in: SignIn) -> None:
    html = sign_in("viewer").get("/").content.decode()

    assert f'action="{GO}"' in html
    assert 'role="search"' in html


def test_one_thing_is_gone_to_at_once(sign_in: SignIn) -> None:
    make_queue()
    make_queue("orders.eu")
    client = sign_in("viewer")

    assert goes_to(client, "orders") == reverse("console:queue", args=["orders"])
    assert goes_to(client, " ORDERS.EU ") == reverse(
        "console:queue", args=["orders.eu"]
    )
    assert goes_to(client, "health") == reverse("console:health")
    assert goes_to(client, "scheduled") == reverse("console:scheduled")


@pytest.mark.parametrize(
    "word", ["retry", "Redrive", "requeue", "replay", "dlq", "fail"]
)
def test_words_of_other_products_lead_to_the_page(sign_in: SignIn, word: str) -> None:
    assert goes_to(sign_in("viewer"), word) == reverse("console:dead_letters")


def test_synonyms_name_pages_that_exist_and_need_three_letters(
    sign_in: SignIn,
) -> None:
    assert go_to.SYNONYMS.keys() <= {place.view for place in DESTINATIONS}
    client = sign_in("viewer")
    assert "page, for “ack”" in found(client, "ack")
    assert "Units of work" not in found(client, "ac")


def test_of_several_one_chooses(sign_in: SignIn) -> None:
    make_queue()
    make_queue("dead.orders")
    client = sign_in("viewer")

    said = words(client.get(GO, {"q": "rders"}).content.decode())

    assert said.index("orders queue") < said.index("dead.orders queue")
    assert "Nothing is named" in words(
        client.get(GO, {"q": "no such thing"}).content.decode()
    )
    assert client.get(GO).status_code == 200


def test_a_number_may_be_a_message_or_a_unit_of_work(sign_in: SignIn) -> None:
    html = found(sign_in("viewer"), "4711")

    assert reverse("console:message", args=[4711]) in html
    assert reverse("console:unit", args=[4711]) in html
    assert "/messages/" not in found(sign_in("operator"), "9" * 40)


def test_of_many_queues_the_rest_is_a_list(sign_in: SignIn) -> None:
    for number in range(13):
        make_queue(f"orders.{number}")

    html = found(sign_in("viewer"), "orders.")

    assert "3 more queues" in html
    assert 'href="/queues/?q=orders."' in html


def test_one_finds_only_what_one_may_see(client: Client) -> None:
    make_queue()
    make_queue("orders.eu")
    user = make_user("vera", permissions=("broker.view_queue",), pattern="orders.eu")
    client.force_login(user)

    html = found(client, "orders")

    assert "orders.eu" in html
    assert reverse("console:queue", args=["orders"]) + '"' not in html
    assert "Credentials" not in found(client, "cred")


def test_what_was_typed_is_only_text(sign_in: SignIn) -> None:
    html = found(sign_in("viewer"), EVIL)

    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_verb_and_a_name_lead_to_the_page_of_an_action(sign_in: SignIn) -> None:
    make_queue()
    make_queue("orders.eu", paused=True)
    admin = sign_in("administrator")

    html = found(admin, "pause ord")
    assert ("Pause orders…" in html, ACTION in html) == (True, True)
    assert "orders.eu" not in html  # it is paused
    assert goes_to(admin, "resume orders.eu") == reverse(
        "console:resume", args=["orders.eu"]
    )
    assert goes_to(admin, "Publish orders.eu") == reverse(
        "console:send", args=["orders.eu"]
    )
    assert goes_to(admin, "new que") == reverse("console:new_queue")
    assert ACTION not in found(admin, "pa orders")
    assert ACTION not in found(admin, "pause")


def test_actions_are_those_that_one_may_do(sign_in: SignIn, client: Client) -> None:
    make_queue()
    viewer = sign_in("viewer")
    assert ACTION not in found(viewer, "pause orders")
    assert ACTION not in found(viewer, "new queue")
    user = make_user("vera", permissions=("broker.view_queue",), pattern="orders.eu")
    client.force_login(user)
    assert ACTION not in found(client, "connect orders")


@pytest.mark.thorough
@pytest.mark.parametrize("one", ACTS.values(), ids=lambda one: one.name)
def test_each_act_is_listed_by_its_verb_and_its_noun(one: DeclaredAct) -> None:
    name = one.name.replace("_", " ")
    may = Client()
    may.force_login(make_user("vera", permissions=(*SEEING, *one.permissions)))
    may_not = Client()
    may_not.force_login(make_user("otto", permissions=SEEING))

    for typed in (name, name.title(), name[: name.index(" ") + 3]):
        html = found(may, typed)
        assert f"{name.capitalize()}…" in html
        assert LISTED in html
    if not set(one.permissions) <= set(SEEING):
        assert f"{name.capitalize()}…" not in found(may_not, name)
    assert f"{name.capitalize()}…" not in found(may, f"{name} and more")
