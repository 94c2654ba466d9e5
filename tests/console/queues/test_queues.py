"""The list of queues and the page of one: right, and looking changes nothing."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from broker.models import Act, Event, Queue
from broker.queueing.put import put, put_many
from broker.transactions.scope import unit_of_work
from dashboards.live import problems
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.console.recorded import deeds
from tests.make import make_messages, make_queue, make_setting, make_user

ODD = "eu/orders <b>of today</b>?"


def page(client: Client, name: str, query: str = "") -> str:
    answer = client.get(reverse("console:queue", args=[name]) + query)
    assert answer.status_code == 200
    return answer.content.decode()


def number(html: str, slot: str) -> str:
    """What stands in one place for a number."""
    found = re.search(rf'<data[^>]*data-slot="{slot}"[^>]*>([^<]*)</data>', html)
    assert found, slot
    return found[1]


def ids(html: str) -> list[int]:
    return [int(one) for one in re.findall(r'<tr id="m(\d+)"', html)]


def test_the_list_says_how_much_is_where(sign_in: SignIn, orders: Queue) -> None:
    put_many(make_messages(1200))
    put("orders", b"later", deliver_at=timezone.now() + timedelta(hours=1))
    with unit_of_work() as work:
        assert len(list(work.get("orders", limit=3))) == 3
        html = sign_in("viewer").get("/queues/").content.decode()

    assert number(html, f"q{orders.pk}-ready") == "1,197"
    assert number(html, f"q{orders.pk}-claimed") == "3"
    assert number(html, f"q{orders.pk}-delayed") == "1"


def test_dead_letters_are_counted_where_they_lie(
    sign_in: SignIn, orders: Queue
) -> None:
    dlq = make_queue("DLQ")
    make_setting("#", dead_letter_address="DLQ", max_delivery_attempts=1)
    put("orders", b"poison")
    with suppress(ValueError), unit_of_work() as work:
        list(work.get("orders"))
        raise ValueError("bad")

    html = sign_in("viewer").get("/queues/").content.decode()

    assert number(html, f"q{dlq.pk}-dead") == "1"
    assert number(html, "dead") == "1"
    assert f"q{orders.pk}-dead" not in html


def test_the_list_asks_as_much_for_many_queues_as_for_one(
    sign_in: SignIn, orders: Queue
) -> None:
    client = sign_in("viewer")
    client.get("/queues/")
    cache.delete(
        problems.key("settings")
    )  # it is kept for seconds, which may end at any time
    with CaptureQueriesContext(connection) as one:
        client.get("/queues/")
    for count in range(30):
        make_queue(f"queue {count}")
    cache.delete(problems.key("settings"))
    with CaptureQueriesContext(connection) as many:
        client.get("/queues/")

    assert len(many) == len(one)


def test_the_page_of_a_dead_letter_queue_says_why_messages_died(
    sign_in: SignIn,
) -> None:
    make_places()
    die("ValueError: row <b>7</b> is bad")
    put("orders")
    client = sign_in("viewer")

    html = page(client, "DLQ")

    assert 'data-label="attempts">2</td>' in html
    assert "ValueError: row &lt;b&gt;7&lt;/b&gt; is bad" in html
    home = client.get("/queues/").content.decode()
    assert number(home, "ready") == "1", "a dead letter counts as dead only"
    assert number(home, "dead") == "1"


def test_a_filter_keeps_the_queues_with_that_in_their_name(
    sign_in: SignIn, orders: Queue
) -> None:
    make_queue("invoices")
    client = sign_in("viewer")

    assert "invoices" not in client.get("/queues/?q=ORD").content.decode()
    assert "No queue has “zebra”" in client.get("/queues/?q=zebra").content.decode()


def test_without_queues_the_list_says_what_to_do(sign_in: SignIn) -> None:
    html = sign_in("viewer").get("/queues/").content.decode()

    assert "There are no queues yet." in html


def test_any_name_has_a_page_and_none_is_taken_for_markup(sign_in: SignIn) -> None:
    make_queue(ODD)
    client = sign_in("viewer")

    url = reverse("console:queue", args=[ODD])

    assert f'href="{url}"' in client.get("/queues/").content.decode()
    assert "eu/orders &lt;b&gt;of today&lt;/b&gt;?" in page(client, ODD)


def test_there_is_no_page_of_a_queue_that_is_not(sign_in: SignIn) -> None:
    answer = sign_in("viewer").get(reverse("console:queue", args=["nowhere"]))

    assert answer.status_code == 404
    assert "There is no such page" in answer.content.decode()


def test_pages_turn_forth_and_back_without_loss(sign_in: SignIn, orders: Queue) -> None:
    put_many(make_messages(120))
    client = sign_in("viewer")
    pages, query = [], ""

    while True:
        html = page(client, "orders", query)
        pages.append((ids(html), query))
        onward = re.search(r'href="(\?[^"]*)" rel="next"', html)
        if not onward:
            break
        query = onward[1].replace("&amp;", "&")

    assert [len(one) for one, _ in pages] == [50, 50, 20]
    assert len({one for some, _ in pages for one in some}) == 120
    back = re.search(r'href="(\?[^"]*)" rel="prev"', html)
    assert back
    assert ids(page(client, "orders", back[1].replace("&amp;", "&"))) == pages[1][0]


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["ready", "in-flight", "delayed"])
@pytest.mark.parametrize(
    "cursor", ["x", "-1.-1", "4.99999999999999999999", "1e999_1", "nan_1", "4", "\0"]
)
def test_a_cursor_that_nobody_gave_out_leads_to_the_first_page(
    sign_in: SignIn, orders: Queue, place: str, cursor: str
) -> None:
    put_many(make_messages(3))

    answer = sign_in("viewer").get(
        reverse("console:queue", args=["orders"]),
        {"place": place, "after": cursor},
        follow=True,
    )

    assert answer.status_code == 200


def test_bodies_are_for_those_who_may_read_them(sign_in: SignIn, orders: Queue) -> None:
    put("orders", b"<script>alert(1)</script>", content_type="text/html")

    assert "alert(1)" not in page(sign_in("viewer"), "orders")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page(
        sign_in("operator"), "orders"
    )


def test_looking_changes_nothing(sign_in: SignIn, orders: Queue) -> None:
    put_many(make_messages(5))
    client = sign_in("operator")
    before = (Event.objects.count(), snapshot())

    for query in ("", "?place=in-flight", "?place=delayed"):
        page(client, "orders", query)
    client.get("/queues/")
    client.get(reverse("console:pause", args=["orders"]))

    assert (Event.objects.count(), snapshot()) == before


def snapshot() -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM broker_ready ORDER BY pos")
        rows: list[tuple[object, ...]] = cursor.fetchall()
        return rows


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "Nothing is ready."),
        ("?place=in-flight", "Nothing is in flight."),
        ("?place=delayed", "Nothing is delayed."),
        ("?place=elsewhere", "Nothing is ready."),
        ("?after=4.5", "End of the list."),
    ],
)
def test_an_empty_place_says_so(
    sign_in: SignIn, orders: Queue, query: str, sentence: str
) -> None:
    assert sentence in page(sign_in("viewer"), "orders", query)


@pytest.mark.spec("ADMIN-5", "ADMIN-7")
def test_pausing_is_confirmed_done_and_written_down(
    sign_in: SignIn, orders: Queue
) -> None:
    put("orders", b"one")
    client = sign_in("operator")
    url = reverse("console:pause", args=["orders"])
    assert "Consumers will get nothing more" in client.get(url).content.decode()

    answer = client.post(url, {"reason": "Stock is counted."}, follow=True)

    assert "orders is paused." in answer.content.decode()
    with unit_of_work() as work:
        assert list(work.get("orders")) == []
    (deed,) = deeds()
    assert (deed.act, deed.actor) == (Act.PAUSE, "operator")
    assert deed.reason == "Stock is counted."
    assert "operator paused it" in answer.content.decode()
    client.post(reverse("console:resume", args=["orders"]))
    with unit_of_work() as work:
        assert len(list(work.get("orders"))) == 1


def test_viewers_cannot_pause(sign_in: SignIn, orders: Queue) -> None:
    answer = sign_in("viewer").post(reverse("console:pause", args=["orders"]))

    orders.refresh_from_db()
    assert (answer.status_code, orders.paused) == (403, False)
    assert "Ask an administrator" in answer.content.decode()


def test_the_same_numbers_are_not_sent_twice(sign_in: SignIn, orders: Queue) -> None:
    client, url = sign_in("viewer"), f"/depths/?shown={orders.pk}"
    first = client.get(url)

    second = client.get(url, headers={"If-None-Match": first["ETag"]})
    put("orders", b"one")
    third = client.get(url, headers={"If-None-Match": first["ETag"]})

    assert (first.status_code, second.status_code, third.status_code) == (200, 304, 200)
    assert number(third.content.decode(), f"q{orders.pk}-ready") == "1"


@pytest.mark.parametrize("shown", ["", "?shown=", "?shown=a", "?shown=1;2"])
def test_numbers_of_queues_are_for_pages_that_show_them(
    sign_in: SignIn, orders: Queue, shown: str
) -> None:
    html = sign_in("viewer").get(f"/depths/{shown}").content.decode()

    assert "-ready" not in html
    assert number(html, "ready") == "0"


@pytest.mark.parametrize("path", ["/", "/depths/"])
def test_those_without_a_role_are_told_whom_to_ask(
    client: Client, db: None, path: str
) -> None:
    client.force_login(make_user("nobody"))

    answer = client.get(path)

    assert answer.status_code == 403
    assert "Ask an administrator" in answer.content.decode()
