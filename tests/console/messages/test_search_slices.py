"""A search that goes on in slices: the rows, counts and links that each adds."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django.test import Client

from broker.monitoring import search
from broker.monitoring.search import Effort, walking
from broker.queueing.put import put_many
from broker.transactions.scope import UnitOfWork
from console.messages import search_results, search_slices
from console.messages.search_slices import SoFar
from tests.console.conftest import SignIn
from tests.console.messages.finding import PAGE, filters_of, items, links, listed, page
from tests.console.messages.test_messages import words as words_of_page
from tests.make import make_messages, make_queue

TENS = "body:7"  # in the bodies 1 to 400, it is in 76


@pytest.fixture
def few_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walking, "FIRST_SCAN", 20)
    monkeypatch.setattr(walking, "OF_BODIES", 20)
    monkeypatch.setattr(walking, "QUICK_S", 0)
    monkeypatch.setattr(walking, "STRIDE", 20)
    monkeypatch.setattr(search_results, "SEARCH", Effort(looks=1))
    monkeypatch.setattr(search_slices, "EFFORT", Effort(looks=4))


def following(html: str) -> str:
    """The query of the next slice; empty if there is none."""
    found = re.search(r'data-search="([^"]*)"', html)
    return unescape(found[1]) if found else ""


def words(html: str) -> str:
    """What one reads, on a page or in a slice."""
    return words_of_page(html if "<main" in html else f"<main{html}</main")


def slices(client: Client, html: str) -> list[str]:
    """What a page's script asks for, one after the other."""
    found: list[str] = []
    while query := following(found[-1] if found else html):
        answer = client.get(PAGE + query)
        assert answer.status_code == 200
        found.append(answer.content.decode())
    return found


@pytest.mark.usefixtures("few_a_slice")
def test_slices_fill_the_page_and_the_next_page_follows(sign_in: SignIn) -> None:
    make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(400))]
    expected = [pk for n, pk in enumerate(ids, 1) if "7" in str(n)][::-1]
    client = sign_in("operator")

    first = page(client, TENS)
    more = slices(client, first)

    assert "<html" not in more[0]
    rows = listed(first) + [one for html in more for one in listed(html)]
    assert rows == expected[:50]
    assert len(items(more[-1])) == len(listed(more[-1])), "each can be ticked"
    assert "50 shown, the newest first." in words(more[-1])
    assert "50 or more match" in words(more[-1])
    assert "Act on all 50 or more that match…" in words(more[-1])
    (url,) = links(more[-1], "Next")
    assert filters_of(url) == [TENS]
    second = client.get(PAGE + url).content.decode()
    rest = listed(second) + [
        one for html in slices(client, second) for one in listed(html)
    ]
    assert rest == expected[50:]
    assert links(second, "Previous")


@pytest.mark.usefixtures("few_a_slice")
def test_each_slice_says_how_far_the_search_is(sign_in: SignIn) -> None:
    make_queue("orders")
    put_many(make_messages(400))
    client = sign_in("operator")

    first = page(client, "body:399")
    second, *_, last = slices(client, first)

    assert "Looked at 20 of about 400 messages" in words(first)
    assert "5 % of the range" in words(first)
    assert "Looked at 100 of about 400 messages, the newest first; 1 found" in words(
        second
    )
    assert "25 % of the range" in words(second)
    assert "1 matches, on all queues that you may see" in words(last)
    assert "1 shown, the newest first. Looked at 400 messages" in words(last)
    assert not links(last, "Next")


@pytest.mark.usefixtures("few_a_slice")
def test_where_nothing_is_found_the_last_slice_says_so(sign_in: SignIn) -> None:
    make_queue("orders")
    put_many(make_messages(60))
    client = sign_in("operator")

    first = page(client, "body:nowhere")
    *between, last = slices(client, first)

    assert "data-matches hidden" in first
    for html in (first, *between):
        assert "No messages match" not in html
    assert "No messages match." in words(last)
    assert "without body:nowhere" in words(last)


@pytest.mark.usefixtures("few_a_slice")
def test_rows_that_cannot_be_ticked_have_the_columns_of_their_page(
    sign_in: SignIn,
) -> None:
    make_queue("orders")
    put_many(make_messages(60))
    work = UnitOfWork()
    work.get("orders", 60)
    client = sign_in("operator")

    first = page(client, "body:7")
    (last, *_) = slices(client, first)

    assert listed(last)
    assert not items(last)
    (table,) = re.findall('<table class="grid as-cards found".*?</table>', first, re.S)
    assert table.count('<th scope="col"') == 9
    assert re.findall(r"<tr.*?</tr>", last, re.S)[0].count("<td") == 8


def test_a_slice_shows_what_its_user_may_see(sign_in: SignIn) -> None:
    make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(3))]
    begins = str(SoFar(f"{ids[2]}.0", looked_at=1))

    answer = sign_in("viewer").get(PAGE, {"f": "body:1", "slice": begins})
    assert answer.status_code == 403
    answer = sign_in("operator").get(PAGE, {"f": "body:1", "slice": begins})
    assert listed(answer.content.decode()) == [ids[0]]


@pytest.mark.parametrize(
    "text",
    ["", "x", "1.1", "1.1~0~0~0~0~0", "1.1~-1~0~0~0~0~0", f"{2**70}.1~0~0~0~0~0~0"],
)
def test_what_is_no_slice_begins_anew(sign_in: SignIn, text: str) -> None:
    answer = sign_in("viewer").get(PAGE, {"f": "state:dead", "slice": text})
    assert answer["Location"] == f"{PAGE}?f=state%3Adead"


def test_what_was_so_far_is_read_as_it_was_written() -> None:
    so_far = SoFar("17.3", 4, 3, 2000, 19, 250, 1)
    assert SoFar.of(str(so_far)) == so_far


def test_a_reach_is_a_share_between_none_and_all() -> None:
    assert search.Reach(top=100, at=76, bottom=1).share == 0.25
    assert search.Reach(top=0, at=2**62, bottom=1).share == 0
    assert search.Reach(top=10, at=2**62, bottom=1).share == 0
    assert search.Reach(top=10, at=1, bottom=10).share == 1
