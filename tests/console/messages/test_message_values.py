"""Values on the page of a message: each leads to all messages that have it."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from broker.models import Queue
from broker.queueing.put import put
from tests.console.conftest import SignIn
from tests.console.messages.masking import FIELDS, TENANT, make_rules

pytestmark = pytest.mark.django_db

HEADERS: dict[str, Any] = {
    "correlation_id": 'order "17", a:b',
    "subject": "bill of *",
    "group_id": "7",
    "producer": "shop",
}
PROPERTIES = {
    "tenant": "t 7",
    "amount": 17,
    "is late": True,
    "rate": 1.5,
    "items": ["a"],
    "none": "",
}
FOUND = re.compile(r'<a class="beside" href="([^"]*)">Find all.*? with this ([\w ]+)<')


def page(client: Client, message_id: int) -> str:
    answer = client.get(reverse("console:message", args=[message_id]))
    assert answer.status_code == 200
    return answer.content.decode()


def links(html: str) -> list[tuple[str, str]]:
    return [(unescape(url), what) for url, what in FOUND.findall(html)]


def test_each_value_leads_to_the_messages_that_have_it(
    sign_in: SignIn, orders: Queue
) -> None:
    client = sign_in("operator")
    first = put("orders", properties=PROPERTIES, **HEADERS).message_id
    put("orders", properties={"tenant": "t8"}, subject="bill of x")
    second = put("orders", properties=PROPERTIES, **HEADERS).message_id

    found = links(page(client, first))

    of_headers = ["correlation id", "subject", "group", "producer"]
    of_properties = ["property"] * 3
    related = of_headers[:1]
    assert [what for _, what in found] == [*related, *of_properties, *of_headers]
    for url, _ in found:
        listed = client.get(url).content.decode()
        rows = re.findall(r'name="item" value="(\d+)\.', listed)
        assert (url, rows) == (url, [str(second), str(first)])


def test_each_list_has_a_button_to_copy_it(sign_in: SignIn, orders: Queue) -> None:
    html = page(
        sign_in("operator"), put("orders", properties={"a": "b"}, **HEADERS).message_id
    )

    for name in ("headers", "application"):
        assert html.count(f'data-copies="{name}-list"') == 1
        assert html.count(f'id="{name}-list"') == 1


def test_a_masked_value_leads_nowhere(sign_in: SignIn, orders: Queue) -> None:
    make_rules()

    html = page(sign_in("operator"), put("orders", **FIELDS).message_id)

    assert TENANT not in html
    assert "h.shift" in html
    assert "h.tenant" not in html


def test_a_value_that_no_filter_can_hold_has_no_link(
    sign_in: SignIn, orders: Queue
) -> None:
    sent = put("orders", properties={"long": "x" * 5000}, subject="y" * 5000)

    assert links(page(sign_in("operator"), sent.message_id)) == []
