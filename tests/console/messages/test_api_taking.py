"""Messages over the API: put, got under a lease, settled, browsed."""

from __future__ import annotations

import base64
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from broker.models import Delayed, Event, Message, Queue, Ready, UnitOfWork
from broker.queueing.put import put, put_many
from broker.security import credentials
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.make import make_messages, make_queue, make_setting, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop(orders: Queue) -> Client:
    """A machine that puts and gets on orders, and no more."""
    user = make_user("service", granted=("inquire", "browse", "get", "put"))
    _, secret = credentials.create("shop", user, patterns="orders.#\nbooked")
    return Client(headers={"Authorization": f"Bearer {secret}"})


def post(client: Client, where: str, body: dict[str, Any], **headers: str) -> Any:
    return client.post(
        f"{ROOT}/{where}", body, content_type="application/json", headers=headers
    )


def test_a_message_is_put_with_all_that_it_has(shop: Client, orders: Queue) -> None:
    answer = post(
        shop,
        "addresses/orders/messages",
        {
            "body": {"total": "9.90"},
            "encoding": "json",
            "properties": {"tenant": "t7", "retries": 3},
            "priority": 7,
            "durable": False,
            "message_id": "ID:1",
            "correlation_id": "c",
            "reply_to": "answers",
            "subject": "order",
            "group_id": "g",
            "ttl_ms": 60_000,
        },
    )

    assert answer.status_code == 200, answer.content
    stored = Message.objects.get(pk=answer.json()["message_id"])
    assert answer.json()["queues"] == ["orders"]
    assert bytes(stored.body) == b'{"total":"9.90"}'
    assert stored.content_type == "application/json"
    assert stored.properties == {"tenant": "t7", "retries": 3}
    assert (stored.priority, stored.durable, stored.producer) == (7, False, "shop")
    assert (stored.message_id, stored.correlation_id) == ("ID:1", "c")
    assert (stored.reply_to, stored.subject, stored.group_id) == (
        "answers",
        "order",
        "g",
    )
    assert stored.expires_at is not None
    assert stored.expires_at - stored.put_at < timedelta(seconds=61)


def test_any_bytes_are_put_and_got(shop: Client, orders: Queue) -> None:
    body = bytes(range(256))
    sent = base64.b64encode(body).decode()
    post(shop, "addresses/orders/messages", {"body": sent, "encoding": "base64"})

    (got,) = post(shop, "queues/orders/get", {}).json()["messages"]

    assert (got["body"], got["encoding"]) == (sent, "base64")
    assert got["content_type"] == "application/octet-stream"


def test_a_delayed_message_waits(shop: Client, orders: Queue) -> None:
    post(shop, "addresses/orders/messages", {"body": "x", "delay_ms": 60_000})

    due_at = Delayed.objects.get().due_at
    assert timedelta(0) < due_at - timezone.now() <= timedelta(minutes=1)


def test_a_batch_is_stored_in_order_or_not_at_all(shop: Client, orders: Queue) -> None:
    where = "addresses/orders/messages/batch"
    answer = post(shop, where, {"messages": [{"body": str(n)} for n in range(50)]})
    ids = [one["message_id"] for one in answer.json()["receipts"]]
    assert ids == sorted(ids)
    assert bytes(Message.objects.get(pk=ids[7]).body) == b"7"

    bad = [{"body": "fine"}, {"body": "!", "encoding": "base64"}]
    told = problem(post(shop, where, {"messages": bad}), 422)
    assert told["errors"][0]["where"] == ["body", "batch", "messages", 1, "body"]
    assert Message.objects.count() == 50


@pytest.mark.parametrize(
    "body",
    [
        {"body": 7},
        {"body": "x", "priority": 10},
        {"body": "x", "delay_ms": 1, "deliver_at": "2030-01-01T00:00:00Z"},
        {"body": "x", "ttl_ms": 1, "expires_at": "2030-01-01T00:00:00Z"},
        {"body": "x", "subject": "\0"},
        {"body": "\ud800"},
    ],
)
def test_what_is_no_message_is_not_put(
    shop: Client, orders: Queue, body: dict[str, Any]
) -> None:
    problem(post(shop, "addresses/orders/messages", body), 422)
    assert not Message.objects.exists()


def test_who_may_not_put_or_get_finds_nothing(shop: Client) -> None:
    make_queue("mail")

    for where, body in (
        ("addresses/mail/messages", {"body": "x"}),
        ("queues/mail/get", {}),
    ):
        assert problem(post(shop, where, body), 404)["code"] == "not-found"


def test_an_address_that_does_not_exist_is_named(shop: Client, orders: Queue) -> None:
    told = problem(post(shop, "addresses/orders.eu/messages", {"body": "x"}), 404)
    assert told["code"] == "no-such-address"


def test_messages_are_got_settled_and_gone(shop: Client, orders: Queue) -> None:
    put_many(make_messages(3))

    got = post(shop, "queues/orders/get", {"limit": 2, "lease_s": 30}).json()
    assert [one["body"] for one in got["messages"]] == ["1", "2"]
    first = got["messages"][0]["message_id"]
    where = f"settlements/{got['settlement']}"

    some = post(shop, where, {"outcome": "accept", "messages": [first]})
    assert some.json()["held"] == [got["messages"][1]["message_id"]]
    rest = post(shop, where, {"outcome": "back_out", "error": "no stock"})
    assert rest.json()["held"] == []

    told = problem(post(shop, where, {"outcome": "accept"}), 409)
    assert told["code"] == "lock-lost"
    assert sorted(Ready.objects.values_list("backout_count", flat=True)) == [0, 1]
    assert set(Event.objects.values_list("actor", flat=True)) >= {"shop"}


def test_a_settlement_sends_messages_in_the_same_transaction(
    shop: Client, orders: Queue
) -> None:
    make_queue("booked")
    put("orders")
    got = post(shop, "queues/orders/get", {}).json()
    where = f"settlements/{got['settlement']}"
    forbidden = [{"address": "mail", "body": "x"}]

    refused = post(shop, where, {"outcome": "accept", "puts": forbidden})
    assert problem(refused, 403)["code"] == "not-authorized"
    puts = [{"address": "booked", "body": "yes"}]
    assert post(shop, where, {"outcome": "accept", "puts": puts}).status_code == 200

    assert bytes(Message.objects.get(address="booked").body) == b"yes"
    assert Ready.objects.count() == 1


def test_a_settlement_is_for_who_got_it(shop: Client, orders: Queue) -> None:
    put("orders")
    got = post(shop, "queues/orders/get", {}).json()
    user = make_user("other")
    _, secret = credentials.create("other", user)
    other = Client(headers={"Authorization": f"Bearer {secret}"})

    for client, settlement in ((other, got["settlement"]), (shop, "a" * 20)):
        answer = post(client, f"settlements/{settlement}", {"outcome": "accept"})
        assert problem(answer, 404)["code"] == "not-found"
    assert UnitOfWork.objects.exists()


def test_a_lease_is_renewed(shop: Client, orders: Queue) -> None:
    put("orders")
    got = post(shop, "queues/orders/get", {"lease_s": 5}).json()

    told = post(shop, f"settlements/{got['settlement']}/renew", {"lease_s": 600}).json()

    assert told["until"] > got["until"]
    assert told["held"] == [got["messages"][0]["message_id"]]


def test_nothing_ready_is_an_answer(shop: Client, orders: Queue) -> None:
    got = post(shop, "queues/orders/get", {"limit": 100}).json()

    assert got == {"messages": [], "settlement": None, "until": None}


def test_a_selector_that_cannot_be_read_is_told_where(
    shop: Client, orders: Queue
) -> None:
    answer = post(shop, "queues/orders/get", {"selector": "colour = "})
    assert problem(answer, 400)["code"] == "invalid-selector"


def test_a_queue_is_browsed_in_pages_and_nothing_is_taken(
    sign_in: SignIn, orders: Queue
) -> None:
    put_many(make_messages(3, subject="s"))
    client = sign_in("operator")
    where = f"{ROOT}/queues/orders/messages"

    first = client.get(where, {"limit": 2, "whole": True}).json()
    second = client.get(where, {"limit": 2, "after": first["next"]}).json()

    assert [one["body"] for one in first["messages"]] == ["1", "2"]
    assert [one["message_id"] for one in first["entries"]] == [
        one["message_id"] for one in first["messages"]
    ]
    assert second["messages"] is None
    assert (len(second["entries"]), second["next"]) == (1, None)
    assert Ready.objects.count() == 3
    assert problem(client.get(where, {"after": "7"}), 422)["code"] == "invalid-request"
    one = first["messages"][0]["message_id"]
    assert client.get(f"{ROOT}/messages/{one}").json()["body"] == "1"


def test_who_may_not_browse_sees_no_bodies(sign_in: SignIn, orders: Queue) -> None:
    message_id = put("orders", b"secret").message_id
    client = sign_in("viewer")

    assert client.get(f"{ROOT}/queues/orders/messages").status_code == 200
    for where in ("queues/orders/messages?whole=1", f"messages/{message_id}"):
        assert client.get(f"{ROOT}/{where}").status_code == 403


def test_queues_are_told_with_their_depths(sign_in: SignIn, orders: Queue) -> None:
    make_queue("mail")
    put_many(make_messages(2))
    client = sign_in("operator")

    listed = client.get(f"{ROOT}/queues", {"limit": 1}).json()
    rest = client.get(f"{ROOT}/queues", {"after": listed["next"]}).json()
    assert [one["name"] for one in listed["queues"] + rest["queues"]] == [
        "mail",
        "orders",
    ]
    assert (rest["queues"][0]["ready"], rest["next"]) == (2, None)

    paused = post(client, "queues/orders/pause", {"reason": "stop"}).json()
    assert paused["paused"] is True
    assert post(client, "queues/orders/resume", {}).json()["paused"] is False


def test_who_has_an_answer_gets_it_again_only_if_it_changed(
    sign_in: SignIn, orders: Queue
) -> None:
    client = sign_in("viewer")
    first = client.get(f"{ROOT}/queues")
    has = {"If-None-Match": first["ETag"]}

    again = client.get(f"{ROOT}/queues", headers=has)
    put("orders")
    changed = client.get(f"{ROOT}/queues", headers=has)

    assert (again.status_code, again.content) == (304, b"")
    assert changed.status_code == 200
    assert "private" in first["Cache-Control"]
    assert "no-store" in first["Cache-Control"]


def test_a_get_may_wait_for_the_first_message(
    shop: Client, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []

    def arrives(queue_id: int, seen: int, *, longest_s: float) -> None:
        looks.append(longest_s)
        put("orders", b"late")

    monkeypatch.setattr("broker.queueing.notifications.wait", arrives)

    got = post(shop, "queues/orders/get", {"wait_s": 10}).json()

    assert [one["body"] for one in got["messages"]] == ["late"]
    assert len(looks) == 1
    assert 9 < looks[0] <= 10


def test_settings_of_poison_are_those_of_any_consumer(
    shop: Client, orders: Queue
) -> None:
    make_setting(max_delivery_attempts=1, dead_letter_address="DLA")
    make_queue("DLQ", address="DLA")
    put("orders")
    got = post(shop, "queues/orders/get", {}).json()

    post(shop, f"settlements/{got['settlement']}", {"outcome": "back_out"})

    (entry,) = Ready.objects.all()
    assert Queue.objects.get(pk=entry.queue_id).name == "DLQ"
