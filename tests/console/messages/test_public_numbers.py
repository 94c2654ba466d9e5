"""A message has one number through all its copies: dead letter, resubmit, repair."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from broker import operations
from broker.models import DeadLetter, Message, Operation
from broker.monitoring import dead_letters
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT
from tests.console.letters import ALL, attempt, die, make_places
from tests.console.messages.test_messages import words
from tests.make import NOON, make_user, plan_resubmit


@pytest.fixture
def copies(db: None) -> list[int]:
    """The ids of a message that died, was resubmitted and died again, in order."""
    make_places(attempts=3, delay_ms=4000)
    letter = die(attempts=3)
    order = plan_resubmit(make_user(), "one", message_id=letter.message_id)
    operations.start(order.pk)
    for number in range(3):
        attempt("ValueError: no", now=NOON + timedelta(hours=number + 1))
    (again,) = dead_letters.letters(ALL)
    copy = order.items.get().copy_id
    ids = [letter.origin_id, letter.message_id, copy or 0, again.message_id]
    assert len(set(ids)) == 4
    return ids


def test_each_id_leads_to_the_page_of_the_number(
    sign_in: SignIn, copies: list[int]
) -> None:
    client = sign_in("operator")
    first, *_, newest = copies
    url = reverse("console:message", args=[first])

    for one in copies:
        address = reverse("console:message", args=[one])
        found = client.get(reverse("console:go"), {"q": str(one)})
        assert f'href="{address}"' in found.content.decode()
        answer = client.get(address, follow=True)
        assert f"<h1>Message {first}</h1>" in answer.content.decode()
        assert answer.request["PATH_INFO"] == url
    queries = [f"?copy={copies[1]}", f"?copy={copies[2]}", ""]
    for one, query in zip(copies[1:], queries, strict=True):
        answer = client.get(reverse("console:message", args=[one]))
        assert answer["Location"] == url + query
    said = words(client.get(url).content.decode())
    assert "It is a dead letter on DLQ" in said
    shown = client.get(url, {"copy": copies[1]})
    assert shown.context["story"].message_id == copies[1]
    assert client.get(url, {"copy": newest + 1}).status_code == 404


def test_the_page_of_an_earlier_copy_leads_to_where_the_message_is_now(
    sign_in: SignIn, copies: list[int]
) -> None:
    first, *_, newest = copies
    client = sign_in("viewer")
    url = reverse("console:message", args=[first])

    html = client.get(url, {"copy": first}).content.decode()

    said = words(html)
    ended = "The original has ended on orders: dead-lettered 2026-03-14 12:03:00.012"
    assert ended in said
    assert "It continues as copy 3." in said
    assert f'<a href="/messages/{newest}/">copy 3</a>' in html
    assert "It is a dead letter on DLQ" in said
    assert "Resubmitted to orders: became copy 2" in said
    assert "has ended" not in words(client.get(url).content.decode())


def test_who_may_not_see_the_newest_copy_sees_the_newest_that_they_may(
    client: Client, copies: list[int]
) -> None:
    may_look = ("broker.view_queue",)
    user = make_user(
        "vera", permissions=may_look, granted=("inquire",), pattern="orders"
    )
    client.force_login(user)
    url = reverse("console:message", args=[copies[0]])
    assert client.get(url).context["story"].message_id == copies[2]
    assert client.get(url, {"copy": copies[3]}).status_code == 404


def test_lists_show_the_number_and_find_each_id(
    sign_in: SignIn, copies: list[int]
) -> None:
    client = sign_in("operator")
    first, *_, newest = copies
    operation = Operation.objects.get()
    fingerprint = DeadLetter.objects.get(message_id=newest).fingerprint
    pages = [
        reverse("console:dead_letter_group", args=[fingerprint]),
        reverse("console:queue", args=["DLQ"]),
        reverse("console:operation", args=[operation.pk]),
        *(f"{reverse('console:messages')}?f=id:{one}" for one in copies),
        f"{reverse('console:messages')}?f=id:<={first}",
    ]

    for address in pages:
        assert f">{first}</a></th>" in client.get(address).content.decode(), address


def test_the_number_stays_when_the_original_is_past_its_retention(
    sign_in: SignIn, copies: list[int]
) -> None:
    Message.objects.filter(pk__in=copies[:3]).delete()
    client = sign_in("operator")
    url = reverse("console:message", args=[copies[0]])
    assert client.get(reverse("console:message", args=[copies[3]]))["Location"] == url
    assert f"<h1>Message {copies[0]}</h1>" in client.get(url).content.decode()


def test_the_api_takes_each_id_and_tells_the_number(
    sign_in: SignIn, copies: list[int]
) -> None:
    client = sign_in("administrator")
    first, *_, newest = copies
    for one in copies:
        told = client.get(f"{ROOT}/messages/{one}").json()
        assert (told["message_id"], told["number"]) == (one, first)
        assert told["copies"] == copies
        found = client.get(f"{ROOT}/messages", {"f": f"id:{one}"}).json()["messages"]
        assert [(m["message_id"], m["number"]) for m in found] == [(newest, first)]
        why = client.get(f"{ROOT}/messages/{one}/explain").json()
        assert (why["message_id"], why["number"]) == (one, first)
    operation = Operation.objects.get()
    (item,) = client.get(f"{ROOT}/operations/{operation.pk}/items").json()["items"]
    assert (item["message_id"], item["number"]) == (copies[1], first)
    for path in ("dead-letters", "queues/DLQ/messages"):
        told = client.get(f"{ROOT}/{path}").json()
        (one,) = told.get("letters") or told["entries"]
        assert (one["message_id"], one["number"]) == (newest, first)

    for given in (first, newest):
        order = {"kind": "remove", "messages": [given]}
        plan = client.post(f"{ROOT}/operations", order, "application/json").json()
        planned = Operation.objects.get(pk=plan["id"]).items.values_list("message_id")
        assert list(planned) == [(newest,)]
