"""From the id that a sender gave to the message, or to the choice among several."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from broker.models import Message
from broker.monitoring import message_copies
from broker.queueing.put import put, put_many
from broker.transactions.scope import unit_of_work
from tests.broker.dying import make_dead_letters
from tests.console.conftest import SignIn
from tests.console.messages.finding import links
from tests.console.messages.test_messages import words
from tests.make import make_messages, make_queue, make_user


def url(client_message_id: str) -> str:
    return reverse("console:by_client_id", args=[client_message_id])


@pytest.mark.parametrize("given", ["ID:a-1", "a/b", "a b%", "..", "für", "1"])
def test_an_id_leads_to_its_message(sign_in: SignIn, given: str) -> None:
    make_queue("orders")
    put("orders", message_id="another")
    one = put("orders", message_id=given).message_id

    answer = sign_in("viewer").get(url(given))

    assert answer.status_code == 302
    assert answer["Location"] == f"/messages/{one}/"


def test_messages_that_were_accepted_are_found_too(sign_in: SignIn) -> None:
    make_queue("orders")
    one = put("orders", message_id="ID:1").message_id
    with unit_of_work() as work:
        work.get("orders")

    assert sign_in("viewer").get(url("ID:1"))["Location"] == f"/messages/{one}/"


def test_among_several_one_chooses(sign_in: SignIn) -> None:
    (letter,) = make_dead_letters(1, message_id="ID:1")
    first = Message.objects.get(pk=letter).first_id
    client = sign_in("viewer")
    assert client.get(url("ID:1"))["Location"] == f"/messages/{first}/"
    other = put("orders", message_id="ID:1").message_id

    html = client.get(url("ID:1")).content.decode()

    seen = words(html)
    assert "Messages with the id ID:1" in seen
    assert "dead letter on DLQ" in seen
    assert "ready on orders" in seen
    assert links(html, str(first)) == [f"/messages/{first}/"]
    assert links(html, str(other)) == [f"/messages/{other}/"]


def test_what_is_not_stored_is_said(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    answer = client.get(url("ID:none"))
    assert answer.status_code == 404
    assert "No message with this id is stored" in words(answer.content.decode())
    assert client.get("/m/a%00b/").status_code == 404


def test_what_one_may_not_inquire_is_not_told(client: Client, db: None) -> None:
    make_queue("orders")
    make_queue("secret")
    put("secret", message_id="ID:1")
    user = make_user(
        permissions=("broker.view_queue",), granted=("inquire",), pattern="orders"
    )
    client.force_login(user)
    assert client.get(url("ID:1")).status_code == 404

    own = put("orders", message_id="ID:1").message_id
    assert client.get(url("ID:1"))["Location"] == f"/messages/{own}/"


def test_a_million_is_looked_at_and_then_one_goes_on(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_copies, "STEP", 2)
    monkeypatch.setattr(message_copies, "STEPS", 2)
    monkeypatch.setattr(message_copies, "QUICK_S", 60)
    make_queue("orders")
    one = put("orders", message_id="ID:1").message_id
    put_many(make_messages(5))
    client = sign_in("viewer")

    html = client.get(url("ID:1")).content.decode()
    assert "among those that were searched" in words(html)
    (on,) = links(html, "Search messages below")
    assert on == f"?before={one + 2}"
    assert links(client.get(url("ID:1") + on).content.decode(), str(one))

    newer = put("orders", message_id="ID:1").message_id
    assert client.get(url("ID:1"))["Location"] == f"/messages/{newer}/"


@pytest.mark.django_db
def test_a_search_that_takes_long_stops_after_a_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(message_copies, "STEP", 2)
    monkeypatch.setattr(message_copies, "QUICK_S", -1)
    make_queue("orders")
    one = put("orders", message_id="ID:1").message_id
    last = put_many(make_messages(5))[-1].message_id

    first = message_copies.incarnations("ID:1")
    assert (first.message_ids, first.goes_on) == ([], last - 1)
    second = message_copies.incarnations("ID:1", before=first.goes_on)
    rest = message_copies.incarnations("ID:1", before=second.goes_on)
    assert rest.message_ids == [one]


def test_many_are_told_some_at_a_time(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_copies, "MOST", 2)
    make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(3, message_id="ID:1"))]

    first = message_copies.incarnations("ID:1")
    assert (first.message_ids, first.goes_on) == (ids[:0:-1], ids[1])
    rest = message_copies.incarnations("ID:1", before=first.goes_on)
    assert rest.message_ids == ids[:1]


def test_a_page_of_a_message_leads_to_all_with_its_id(sign_in: SignIn) -> None:
    (letter,) = make_dead_letters(1, message_id="a/b")
    answer = sign_in("viewer").get(f"/messages/{letter}/", follow=True)
    html = answer.content.decode()
    assert links(html, "All with this id") == ["/m/a/b/"]
