"""The list of queues: found by name, in any order, in pages; what it tells of each."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from broker.models import Queue
from broker.queueing.put import put_many
from broker.transactions.scope import unit_of_work
from console.queues.queue_list import matches_name
from tests.console.conftest import SignIn
from tests.make import make_messages, make_queue, make_setting, make_user


def names(html: str) -> list[str]:
    return re.findall(r'class="primary">\s*<a href="[^"]*"><bdi>(.*?)</bdi>', html)


def shown(sign_in: SignIn, query: str = "") -> str:
    return page(sign_in("viewer"), query)


def page(client: Client, query: str) -> str:
    return client.get("/queues/" + query).content.decode()


def dying(name: str, messages: int = 1) -> None:
    """Messages of a queue that become dead letters."""
    put_many(make_messages(messages, address=name))
    with suppress(ValueError), unit_of_work() as work:
        list(work.get(name, limit=messages))
        raise ValueError("bad")


@pytest.fixture
def three(db: None) -> None:
    for name, messages in (("orders", 2), ("Invoices", 7), ("payments", 0)):
        make_queue(name)
        put_many(make_messages(messages, address=name))


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("", ["Invoices", "orders", "payments"]),
        ("?sort=-name", ["payments", "orders", "Invoices"]),
        ("?sort=-ready", ["Invoices", "orders", "payments"]),
        ("?sort=ready", ["payments", "orders", "Invoices"]),
        ("?sort=-delayed", ["Invoices", "orders", "payments"]),  # alike: by name
        ("?sort=nonsense", ["Invoices", "orders", "payments"]),
    ],
)
def test_any_column_puts_queues_in_order(
    sign_in: SignIn, query: str, order: list[str]
) -> None:
    assert names(shown(sign_in, query)) == order


@pytest.mark.usefixtures("three")
def test_a_column_says_that_it_orders_and_turns_round(sign_in: SignIn) -> None:
    html = shown(sign_in, "?q=o&sort=-ready")

    assert re.findall(r'aria-sort="(\w+)"', html).count("none") == 9
    assert re.search(r'aria-sort="descending"><a [^>]*sort=ready"', html)
    assert re.search(r'aria-sort="none"><a [^>]*q=o&amp;sort=-delayed"', html)
    assert re.search(r'aria-sort="none"><a [^>]*q=o&amp;sort=name"', html)


@pytest.mark.usefixtures("three")
@pytest.mark.parametrize(
    ("query", "chosen"),
    [("", "Queue"), ("?sort=-ready", "Ready"), ("?sort=ready", "Ready, the other way")],
)
def test_the_order_is_chosen_where_columns_have_no_heads(
    sign_in: SignIn, query: str, chosen: str
) -> None:
    html = shown(sign_in, query)

    assert re.findall(r" selected>([^<]*)</option>", html) == [chosen]
    assert ("the other way" in html) == ("the other way" in chosen)


@pytest.mark.parametrize(
    ("name", "wanted", "is_found"),
    [
        ("orders.eu", "ORD", True),
        ("orders.eu", "orders.*", True),
        ("eu.orders", "orders*", False),
        ("eu.orders", "*orders", True),
        ("orders[1]", "orders[*]", True),
        ("orders1", "orders[*]", False),
        ("a\nb", "a*b", True),
    ],
)
def test_a_name_is_found_by_a_part_or_a_pattern(
    name: str, wanted: str, is_found: bool
) -> None:
    assert matches_name(name, wanted) is is_found


def test_many_queues_come_in_pages(sign_in: SignIn, db: None) -> None:
    for number in range(80):
        make_queue(f"q{number:03}")

    client = sign_in("viewer")
    first, second = page(client, "?sort=name"), page(client, "?sort=name&page=2")

    assert names(first) == [f"q{number:03}" for number in range(50)]
    assert names(second) == [f"q{number:03}" for number in range(50, 80)]
    assert 'rel="next" href="?sort=name&amp;page=2"' in first
    assert "51–80 of 80 queues" in second
    assert names(page(client, "?page=99")) == names(second)
    assert names(page(client, "?page=x")) == names(first)


def test_a_queue_says_what_died_of_it_and_leads_there(
    sign_in: SignIn, db: None
) -> None:
    make_queue("orders/eu")
    make_queue("DLQ")
    make_setting("#", dead_letter_address="DLQ", max_delivery_attempts=1)
    dying("orders/eu", 3)

    client = sign_in("viewer")

    died = re.search(r'"died"><a [^>]*href="([^"]*)">3</a>', page(client, ""))

    assert died
    assert died[1] == reverse("console:dead_letters") + "?queue=orders%2Feu"
    assert "orders/eu (3)" in client.get(died[1]).content.decode()


def test_who_may_not_inquire_where_they_lie_is_not_told_what_died(
    client: Client, db: None
) -> None:
    make_queue("orders")
    make_queue("DLQ")
    make_setting("#", dead_letter_address="DLQ", max_delivery_attempts=1)
    dying("orders")
    noor = make_user(
        "noor",
        permissions=("broker.view_queue",),
        granted=("inquire",),
        pattern="orders",
    )
    client.force_login(noor)

    html = page(client, "")

    assert names(html) == ["orders"]
    assert 'data-label="died"' not in html


def test_it_says_how_long_the_first_waits(sign_in: SignIn, db: None) -> None:
    make_queue("orders")
    make_queue("empty")
    put_many(make_messages(1))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE broker_message SET put_at = put_at - interval '2 h'")

    html = shown(sign_in)

    assert re.findall(r'data-label="oldest">([^<]*)<', html) == ["2 h"]


@pytest.mark.usefixtures("three")
def test_without_redis_there_is_no_line_and_all_else(sign_in: SignIn) -> None:
    html = shown(sign_in)

    assert "<polyline" not in html
    assert len(names(html)) == 3


def test_a_queue_says_what_it_is_for_and_whom_to_ask(sign_in: SignIn, db: None) -> None:
    queue = make_queue("orders")
    Queue.objects.filter(pk=queue.pk).update(
        description="Orders of the shop. <b>",
        contact="the team of sales",
        runbook="https://wiki.example.org/orders?a=1&b=2",
    )

    html = sign_in("viewer").get(reverse("console:queue", args=["orders"])).content

    assert b"Orders of the shop. &lt;b&gt;" in html
    assert b"the team of sales" in html
    assert b'href="https://wiki.example.org/orders?a=1&amp;b=2"' in html


@pytest.mark.parametrize("link", ["javascript:alert(1)", "ftp://a.example", "wiki"])
def test_a_runbook_is_a_page_of_the_web(sign_in: SignIn, link: str, db: None) -> None:
    queue = make_queue("orders")
    url = reverse("admin:broker_queue_change", args=[queue.pk])

    answer = sign_in("administrator").post(url, {"name": "orders", "runbook": link})

    assert "Enter a valid URL" in answer.content.decode()


def test_the_list_asks_as_much_for_hundreds_as_for_one(
    sign_in: SignIn, db: None
) -> None:
    client = sign_in("viewer")
    make_queue("first")
    counts = []
    for count in (1, 150):
        for number in range(count):
            make_queue(f"q{count}-{number}")
        cache.clear()
        with CaptureQueriesContext(connection) as asked:
            client.get("/queues/")
        counts.append(len(asked))

    assert counts[0] == counts[1]
