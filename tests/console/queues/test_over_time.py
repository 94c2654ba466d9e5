"""Charts over time: on pages, alone, over HTTP; for those who may inquire the queue."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from broker.models import HistorySample, LinkStatus, Queue
from broker.monitoring.history import packing
from broker.monitoring.history.packing import FIELDS
from broker.security import authorities
from console.accounts import roles
from tests.console.bridging import make_link
from tests.console.conftest import SignIn
from tests.console.principals import signed_in
from tests.make import make_queue, make_setting

READY, ADDED = FIELDS.index("ready"), FIELDS.index("added")


def sampled(ago_s: int, **ready: int) -> None:
    """A sample in which queues had so many ready messages, as many of which came."""
    at = timezone.now() - timedelta(seconds=ago_s)
    counts = {}
    for name, many in ready.items():
        row = [0] * len(FIELDS)
        row[READY] = row[ADDED] = many
        counts[Queue.objects.get(name=name).pk] = row
    HistorySample.objects.create(
        period_s=10, at=at, span_s=10, counts=packing.packed(counts)
    )


def rows(html: str) -> list[list[str]]:
    """The rows of the table in which something is known."""
    found = re.findall(r"<tr data-at[^>]*>(.*?)(?=<tr|</tbody)", html)
    cells = [re.sub(r"<t[hd][^>]*>", "|", one).split("|")[2:] for one in found]
    return [one for one in cells if one[0] != "–"]


@pytest.fixture
def two(orders: Queue) -> None:
    make_queue("other")
    make_queue("DLQ")
    make_setting("#", dead_letter_address="DLQ")
    sampled(20, orders=7, other=5, DLQ=100)


@pytest.mark.usefixtures("two")
def test_a_queue_has_charts_and_the_same_numbers(sign_in: SignIn) -> None:
    html = sign_in("viewer").get("/queues/orders/").content.decode()

    assert html.count('<svg class="bars"') == 4
    (row,) = rows(html)
    assert row[:3] == ["7", "0", "0"]
    assert 'hx-get="/history/?queue=orders&amp;range=1h"' in html


@pytest.mark.usefixtures("two")
def test_all_queues_are_those_that_one_may_inquire(sign_in: SignIn) -> None:
    """Without dead letters, which are no work that waits."""
    every = sign_in("viewer").get("/").content.decode()
    vera = signed_in(
        "vera", tuple(roles.ROLES["viewer"]), ("inquire",), pattern="other"
    )
    some = vera.client().get("/").content.decode()

    assert [row[0] for row in rows(every)] == ["12"]
    assert [row[0] for row in rows(some)] == ["5"]
    assert vera.client().get("/history/?queue=orders").status_code == 404
    assert vera.client().get("/api/v1/queues/orders/history").status_code == 404


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("range=30d", "the last 30d, a point each 4 h"),
        ("from=2020-01-01", "There is nothing from before"),
        ("from=soon", "“from” is no time."),
        ("range=1y", "There is no range 1y."),
        ("from=2999-01-01T00:00Z", "“from” has to be before “to”"),
    ],
)
def test_a_range_is_in_the_url(
    sign_in: SignIn, orders: Queue, query: str, told: str
) -> None:
    answer = sign_in("viewer").get(f"/queues/orders/?{query}")
    assert told in answer.content.decode()


@pytest.mark.usefixtures("two")
def test_charts_of_a_time_that_is_over_do_not_go_on(sign_in: SignIn) -> None:
    now = timezone.now()
    query = f"place=delayed&from={now - timedelta(minutes=5):%Y-%m-%dT%H:%M:%SZ}"
    html = sign_in("viewer").get(f"/queues/orders/?{query}").content.decode()

    assert rows(html)
    assert 'hx-get="/history/' not in html
    assert 'href="?place=delayed&amp;range=24h#over-time"' in html


@pytest.mark.usefixtures("two")
def test_charts_alone_keep_the_query_of_their_page(sign_in: SignIn) -> None:
    page = "http://testserver/queues/orders/?place=delayed&range=6h"
    html = (
        sign_in("viewer")
        .get("/history/?queue=orders&range=6h", headers={"HX-Current-URL": page})
        .content.decode()
    )
    assert html.lstrip().startswith('<section id="over-time"')
    assert 'href="?place=delayed&amp;range=24h#over-time"' in html


@pytest.mark.usefixtures("two")
def test_programs_read_the_same(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    told = client.get("/api/v1/queues/orders/history?range=15m").json()

    assert told["step_s"] == 10
    (known,) = (one for one in told["points"] if one["ready"] is not None)
    assert (known["ready"], known["added_per_s"], known["p50_ms"]) == (7, 0.7, None)
    assert len(told["points"]) == 90
    wrong = client.get("/api/v1/queues/orders/history?from=2020-01-01T00:00Z")
    assert wrong.status_code == 422
    assert "nothing from before" in wrong.json()["detail"]


def test_what_may_be_a_reason_is_marked(sign_in: SignIn, orders: Queue) -> None:
    """Those who may read the audit are led to the record."""
    sampled(20, orders=7)
    rights = tuple(roles.ROLES["administrator"])
    ada = signed_in("ada", rights, authorities.ALL).client()
    ada.post("/queues/orders/pause/", {"reason": "the provider is down"})

    of_ada = marks(ada.get("/queues/orders/").content.decode())
    of_viewer = marks(sign_in("viewer").get("/queues/orders/").content.decode())

    assert re.search(r'href="/audit/\d+/"><bdi>ada paused a queue orders', of_ada)
    assert "ada paused a queue orders" in of_viewer
    assert "/audit/" not in of_viewer


def marks(html: str) -> str:
    found = re.search(r'<section class="[^"]*marks".*?</section>', html, re.S)
    assert found
    return found[0]


def test_a_link_has_charts_of_its_own(sign_in: SignIn) -> None:
    link = make_link()
    LinkStatus.objects.get_or_create(link=link)
    counts = [0] * len(FIELDS)
    counts[READY], counts[ADDED] = 3, 50
    block = packing.packed({packing.of_link(link.pk): counts})
    at = timezone.now() - timedelta(seconds=20)
    HistorySample.objects.create(period_s=10, at=at, span_s=10, counts=block)
    client = sign_in("viewer")

    html = client.get(f"/bridges/{link.bridge.name}/{link.name}/").content.decode()
    alone = client.get(f"/history/?bridge={link.bridge.name}&link={link.name}")

    (row,) = rows(html)
    assert row[:3] == ["5", "0", "3"]
    assert rows(alone.content.decode())
