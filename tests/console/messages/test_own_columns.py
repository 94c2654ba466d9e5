"""Own columns of lists of messages: how they are chosen, and what they show to whom."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from broker.queueing.put import put
from console.bodies import own_values
from console.bodies.own_columns import COOKIE, LONGEST_COOKIE, Choice, OwnColumn
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.make import make_authority, make_queue, make_redaction, make_user

EVIL = "<script>alert(1)</script>\u202e"
pages = pytest.mark.django_db


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("properties.tenant", "properties.tenant"),
        (" h.tenant ", "properties.tenant"),
        ("properties.a.b", "properties.a.b"),
        ("body.customer.id", "body.customer.id"),
        ('body."customer".items[].sku', "body.customer.items[].sku"),
        ('body."a b"', 'body."a b"'),
    ],
)
def test_a_column_is_a_property_or_a_path(text: str, normal: str) -> None:
    assert OwnColumn.of(text).text == normal
    assert OwnColumn.of(normal) == OwnColumn.of(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "tenant", "properties.", "body.", "body.a..b", "body.[]a", "h."),
        *("h.\u202ex", "properties." + "x" * 100),
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"\A(A column is|The name of a column) .*\Z"):
        OwnColumn.of(text)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("body.id", "7"),
        ("body.big", "12345678901234567890"),
        ("body.ok", "true"),
        ("body.none", "null"),
        ("body.items.0.sku", "a"),
        ("body.items.-1.sku", "b"),
        ("body.items[].sku", "a, b"),
        ("body.items", '[{"sku": "a"}, {"sku": "b"}]'),
        ("body.items.2.sku", None),
        ("body.id.deeper", None),
        ("body.id[]", None),
        ("body.items.sku", None),
        ("properties.id", "of the property"),
    ],
)
def test_a_value_is_found_as_a_search_finds_it(path: str, value: str | None) -> None:
    body: dict[str, Any] = {
        "id": 7,
        "big": 12345678901234567890,
        "ok": True,
        "none": None,
    }
    body |= {"items": [{"sku": "a"}, {"sku": "b"}]}

    found = OwnColumn.of(path).value({"id": "of the property"}, body)

    assert found == value


def test_a_list_has_five_and_each_queue_its_own() -> None:
    choice = Choice().plus("", "h.a").plus("orders", "h.b").plus("", "h.a")
    for name in "cde":
        choice = choice.plus("orders", f"h.{name}")

    with pytest.raises(ValueError, match="at most 5"):
        choice.plus("orders", "h.f")

    assert Choice.of(choice.cookie) == choice
    assert [one.label for _, one in choice.on("orders")] == ["a", "b", "c", "d", "e"]
    assert [one.label for _, one in choice.plus("bills", "h.f").on("bills")] == list(
        "af"
    )
    assert [one.label for _, one in choice.minus("orders", "properties.c").on("")] == [
        "a"
    ]
    for number in range(200):
        choice = choice.plus(f"queue {number}", "body.customer.id")
    assert len(choice.cookie) <= LONGEST_COOKIE
    assert Choice.of(choice.cookie).on("queue 199")


@pytest.mark.parametrize(
    "cookie", ["x", "[[1]]", "7", '["ab"]', '[["", "x"]]', "[" * 9]
)
def test_a_cookie_that_is_none_chooses_nothing(cookie: str) -> None:
    assert Choice.of(cookie) == Choice()


def choose(client: Client, queue: str = "", **order: str) -> str:
    answer = client.post(
        reverse("console:own_columns"), {"queue": queue, "next": "/queues/"} | order
    )
    assert answer.status_code == 302
    return html.unescape(client.get("/queues/").content.decode())


def cells(client: Client, url: str) -> list[str]:
    answer = client.get(url)
    assert answer.status_code == 200
    found = re.findall(r'<td class="own".*?>(.*?)</td>', answer.content.decode())
    return [re.sub("<[^>]*>", "", one) for one in found]


@pages
def test_the_columns_of_a_queue_are_shown_on_it_until_they_are_removed(
    sign_in: SignIn,
) -> None:
    make_queue("orders")
    make_queue("bills")
    body = json.dumps({"customer": {"id": EVIL}}).encode()
    put("orders", body, content_type="application/json", properties={"tenant": "t7"})
    put("orders", b"no JSON", properties={"other": 1})
    put("bills", body)
    client = sign_in("operator")
    url = reverse("console:queue", args=["orders"])
    suggested = client.get(url).content.decode()
    for one in ("properties.tenant", "properties.other", "body.customer.id"):
        assert f'<option value="{one}">' in suggested

    choose(client, "orders", add="h.tenant")
    choose(client, "orders", add="body.customer.id")

    page = client.get(url).content.decode()
    assert "<script>alert" not in page
    assert 'data-label="tenant"' in page
    first, *rest = [html.unescape(one) for one in cells(client, url)]
    assert (first, rest[1:]) == ("t7", ["–", "–"])
    assert "<script>alert(1)</script>" in rest[0]
    assert "\u202e" not in rest[0]
    assert cells(client, reverse("console:queue", args=["bills"])) == []
    assert cells(client, reverse("console:messages")) == []

    choose(client, "orders", remove="body.customer.id")
    assert cells(client, url) == ["t7", "–"]


@pages
def test_columns_of_all_lists_are_on_each(sign_in: SignIn) -> None:
    make_places()
    letter = die(body=b'{"id": 4711}')
    put("orders", b'{"id": 4712}')
    client = sign_in("operator")

    choose(client, add="body.id")

    assert cells(client, reverse("console:queue", args=["orders"])) == ["4712"]
    assert cells(client, reverse("console:messages")) == ["4712", "4711"]
    group = reverse("console:dead_letter_group", args=[letter.fingerprint])
    assert cells(client, group) == ["4711"]


@pages
def test_what_is_no_column_or_too_much_is_refused_in_words(sign_in: SignIn) -> None:
    client = sign_in("operator")
    assert "A column is a property, as" in choose(client, add="tenant")
    for name in "abcde":
        choose(client, add=f"h.{name}")

    assert "at most 5 own columns" in choose(client, add="h.f")


@pages
def test_who_may_not_read_bodies_has_none(sign_in: SignIn) -> None:
    make_queue("orders")
    make_queue("bills")
    for queue in ("orders", "bills"):
        put(queue, b'{"id": 1}', properties={"tenant": "of-shop"})
    viewer = sign_in("viewer")
    choose(viewer, add="h.tenant")
    for name in ("console:messages", "console:queue"):
        page = viewer.get(reverse(name, args=["orders"] if "queue" in name else []))
        assert "of-shop" not in page.content.decode()
        assert "own-columns" not in page.content.decode()

    some = Client()
    may = ("broker.view_queue", "broker.browse_queue")
    sue = make_user(
        "sue", permissions=may, granted=("inquire", "browse"), pattern="orders"
    )
    make_authority(sue, "inquire", pattern="bills")
    some.force_login(sue)
    some.cookies[COOKIE] = Choice().plus("", "h.tenant").cookie
    assert cells(some, reverse("console:messages")) == ["–", "of-shop"]


@pages
def test_masks_hide_values_here_too(sign_in: SignIn) -> None:
    make_queue("orders")
    put("orders", b'{"card": "4711", "id": 1}', properties={"tenant": "t7"})
    put("orders", b'{"card": 4711' + b" " * 2**17)  # no JSON, so nothing of it is read
    make_redaction("card", "json", "/card", "orders")
    make_redaction("tenant", "property", "ten*", "orders")
    client = sign_in("operator")
    for name in ("body.card", "body.id", "h.tenant"):
        choose(client, add=name)

    card, number, tenant, *rest = cells(
        client, reverse("console:queue", args=["orders"])
    )

    assert card == "••• masked by rule card"
    assert number == "1"
    assert tenant == "••• masked by rule tenant"
    assert rest == ["–"] * 3


@pages
def test_a_body_that_is_too_large_for_a_list_is_not_read(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_values, "MOST_BYTES", 9)
    make_queue("orders")
    put("orders", b'{"id": 1}')
    put("orders", b'{"id": 12}')
    client = sign_in("operator")
    choose(client, add="body.id")

    assert cells(client, reverse("console:queue", args=["orders"])) == ["1", "–"]


@pages
def test_programs_name_the_columns_that_they_want(sign_in: SignIn) -> None:
    make_queue("orders")
    put("orders", b'{"id": 1}', properties={"tenant": "t7"})
    wanted = {"columns": ["body.id", "h.tenant"]}
    expected = {"body.id": "1", "properties.tenant": "t7"}
    urls = {"/api/v1/queues/orders/messages": "entries", "/api/v1/messages": "messages"}
    operator = sign_in("operator")
    for url, rows in urls.items():
        (one,) = operator.get(url, wanted).json()[rows]
        (plain,) = operator.get(url).json()[rows]

        assert one["own"] == expected
        assert plain["own"] == {}
        refused = operator.get(url, {"columns": ["tenant"]})
        assert refused.status_code == 422
        assert "A column is a property" in refused.content.decode()
    viewer = sign_in("viewer")
    for url, rows in urls.items():
        (blind,) = viewer.get(url, wanted).json()[rows]
        assert blind["own"] == dict.fromkeys(expected)
