"""What is offered to whoever types a filter: keys, then values that messages have."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from broker.formats.filters import KEYS, PROPERTY, parse
from broker.models import Queue
from broker.monitoring import search
from broker.monitoring.search import tallies, walking
from broker.queueing.put import put, put_many
from tests.broker.dying import make_dead_letters
from tests.console.conftest import SignIn
from tests.console.messages.finding import PAGE
from tests.make import make_messages, make_queue, make_user

COMPLETE = reverse("console:complete")


def told(client: Client, text: str, *filters: str) -> dict[str, Any]:
    answer = client.get(COMPLETE, {"text": text, "f": filters})
    assert answer.status_code == 200
    assert "private" in answer["Cache-Control"]
    found: dict[str, Any] = answer.json()
    return found


def offered(client: Client, text: str, *filters: str) -> list[str]:
    return [one["value"] for one in told(client, text, *filters)["options"]]


def test_keys_are_offered_by_any_of_their_letters(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    assert offered(client, "") == [f"{one}:" for one in KEYS]
    assert offered(client, "tri") == ["tries:"]
    assert offered(client, "state:dead -que") == ["state:dead -queue:"]
    assert {"value": "queue:", "says": "the queue it is on"} in told(client, "q")[
        "options"
    ]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("state:de", ["state:delayed", "state:dead", "state:discarded"]),
        ("is:dea", ["is:dead"]),
        ("state:dead,rea", ["state:dead,ready"]),
        ("cause:exp", ["cause:expired"]),
        ("priority:", ["priority:0", "priority:>0", "priority:>=3", "priority:1..5"]),
        ("colour:r", []),
        ('error:"a b', []),
    ],
)
def test_what_there_can_be_is_offered(
    sign_in: SignIn, text: str, options: list[str]
) -> None:
    assert offered(sign_in("viewer"), text) == options


@pytest.mark.parametrize("text", ["age:", "size:", "at:", "died:>", "tries:", "due:"])
def test_every_example_can_be_read(sign_in: SignIn, text: str) -> None:
    options = offered(sign_in("viewer"), text)
    assert options
    for one in options:
        assert str(parse(one))


def test_values_are_those_of_messages_the_most_frequent_first(sign_in: SignIn) -> None:
    make_queue("orders")
    make_queue("billing")
    put_many(make_messages(2, subject="order"))
    put("orders", subject="a*b c")
    put("billing", subject="bill")
    client = sign_in("viewer")

    assert offered(client, "type:")[0] == "type:order"
    assert set(offered(client, "type:")) == {"type:order", 'type:"a*b c"', "type:bill"}
    assert offered(client, "type:ILL") == ["type:bill"]
    assert offered(client, "queue:") == ["queue:billing", "queue:orders"]
    assert "newest 2,000 messages" in told(client, "type:")["said"]
    assert set(offered(client, "type:", "queue:orders")) == {
        *("type:order", 'type:"a*b c"'),
    }
    assert offered(client, "queue:billing -type:") == ["queue:billing -type:bill"]


def test_what_is_offered_finds_something(sign_in: SignIn) -> None:
    make_dead_letters(1, subject='a "b\\ c:d,e', producer="p*q", content_type="x/y z")
    client = sign_in("operator")
    queues = dict(Queue.objects.values_list("pk", "name"))

    for key in ("type", "producer", "content", "origin", "fingerprint", "address"):
        (option, *_) = offered(client, f"{key}:", "state:dead")
        assert search.find(parse(option), within=queues).rows, option


def test_properties_and_their_names_are_offered_to_who_may_read_them(
    sign_in: SignIn, client: Client
) -> None:
    make_queue("orders")
    put("orders", properties={"tenant": "t7", "n": 7, "a b": True})
    put("orders", properties={"tenant": "t8"})
    reader = sign_in("operator")
    assert offered(reader, "h.")[0] == "h.tenant:"
    assert set(offered(reader, "h.")) == {"h.tenant:", "h.n:", 'h."a b":'}
    assert offered(reader, "h.TEN") == ["h.tenant:"]
    assert set(offered(reader, "h.tenant:")) == {"h.tenant:t7", "h.tenant:t8"}
    assert offered(reader, "h.n:") == ["h.n:7"]

    client.force_login(make_user("vera", permissions=("broker.view_queue",)))
    for text in ("h.", "h.tenant:", "body:x h.tenant:", "body.", "body.a:"):
        assert told(client, text)["options"] == []
        assert "broker.browse_queue" in told(client, text)["said"]


def test_paths_in_bodies_and_their_values_are_offered(sign_in: SignIn) -> None:
    make_queue("orders")
    put("orders", b'{"customer": {"id": 4711, "a:b": 1}, "items": [{"sku": "A-1"}]}')
    put("orders", b'{"customer": {"id": "B7"}, "tags": ["new"], "ok": true}')
    put("orders", b'{"no": null}')
    put("orders", b"no JSON")
    put("orders", b'{"large": "' + b"x" * 2**17 + b'"}')
    client = sign_in("operator")

    assert set(offered(client, "body.")) == {
        *("body.customer.", "body.items[].", "body.tags[]:", "body.ok:", "body.no:"),
    }
    assert offered(client, "state:ready -body.CUST") == ["state:ready -body.customer."]
    assert set(offered(client, "body.customer.")) == {
        *("body.customer.id:", 'body.customer."a:b":'),
    }
    assert set(offered(client, "body.customer.id:")) == {
        *("body.customer.id:4711", "body.customer.id:B7"),
    }
    assert offered(client, "body.items[].") == ["body.items[].sku:"]
    assert offered(client, "body.items[].sku:") == ["body.items[].sku:A-1"]
    assert offered(client, "body.tags[]:n") == ["body.tags[]:new"]
    assert offered(client, "body.ok:x,t") == ["body.ok:x,true"]
    for text in ("body.no:", "body..", "body.a..b:", "body.x[7]."):
        assert offered(client, text) == []


def test_nothing_is_offered_of_queues_that_one_may_not_see(
    client: Client, db: None
) -> None:
    for name in ("orders", "secret"):
        make_queue(name)
        put(name, subject=f"on {name}", properties={name: 1})
    permissions = ("broker.view_queue", "broker.browse_queue")
    client.force_login(make_user(permissions=permissions, pattern="orders"))

    assert offered(client, "queue:") == ["queue:orders"]
    assert offered(client, "type:") == ['type:"on orders"']
    assert offered(client, "h.") == ["h.orders:"]


def test_long_and_hidden_values_are_not_offered(sign_in: SignIn) -> None:
    make_queue("orders")
    put("orders", subject="x" * 201)
    put("orders", subject="evil\u202e")
    put("orders", subject="x" * 200)
    assert offered(sign_in("viewer"), "type:") == [f"type:{'x' * 200}"]


def test_a_bounded_number_of_messages_is_looked_at(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = make_queue("orders")
    put("orders", subject="old")
    put_many(make_messages(5, subject="new"))
    monkeypatch.setattr(tallies, "NEWEST", 3)
    names = {orders.pk: "orders"}

    tally = search.values(parse(""), KEYS["type"], within=names)
    assert tally == {"new": 3}

    monkeypatch.setattr(tallies, "NEWEST", 2000)
    monkeypatch.setattr(walking, "FIRST_SCAN", 1)
    monkeypatch.setattr(walking, "SCAN", 1)
    tally = search.values(parse(""), KEYS["type"], within=names)
    assert tally == {"new": 3}
    assert not search.values(parse(""), PROPERTY, within=names)


def test_what_stands_before_has_to_be_readable(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    assert "there is no key queu" in told(client, "queu:x type:")["said"]
    assert told(client, "type:", "queu:x")["options"] == []


def test_it_is_for_those_who_may_look(client: Client, db: None) -> None:
    assert client.get(COMPLETE).status_code == 302
    client.force_login(make_user())
    assert client.get(COMPLETE).status_code == 403


def test_without_scripts_the_page_offers_the_keys(sign_in: SignIn) -> None:
    html = sign_in("viewer").get(PAGE).content.decode()
    for key in KEYS.values():
        assert f'<option value="{key.name}:">{escape(key.says)}</option>' in html
