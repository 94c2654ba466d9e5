"""The page of messages: a filter finds them, and every part of it is a link."""

from __future__ import annotations

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from selectolax.lexbor import LexborHTMLParser

from broker.models import Message
from broker.monitoring.search import Effort, pages, walking
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork
from console.messages import search_results
from tests.broker.dying import make_dead_letters
from tests.broker.found import make_scene
from tests.console.conftest import SignIn
from tests.console.layout.test_frame import INLINE
from tests.console.messages.finding import (
    PAGE,
    filters_of,
    items,
    links,
    listed,
    page,
    said,
)
from tests.console.messages.test_messages import words
from tests.make import make_messages, make_queue, minutes


def test_messages_of_all_queues_and_states_are_listed_the_newest_first(
    sign_in: SignIn,
) -> None:
    letters = make_dead_letters(2)
    make_queue("billing")
    later = put("billing", deliver_at=timezone.now() + minutes(9)).message_id
    taken = put("billing").message_id
    UnitOfWork().get("billing")

    html = page(sign_in("operator"))

    assert listed(html) == [taken, later, *letters[::-1]]
    seen = words(html)
    assert "4 on all queues that you may see" in seen
    assert "in flight billing" in seen
    assert "delayed billing" in seen
    assert "dead letter DLQ from orders" in seen
    assert "Looked at 4 messages" in seen


def test_each_term_can_be_taken_away_or_changed(sign_in: SignIn) -> None:
    make_dead_letters(1)
    client = sign_in("operator")

    html = page(client, "state:dead", "queue:DLQ")

    (without,) = links(html, "Without state:dead")
    assert filters_of(without) == ["queue:DLQ"]
    edited = next(one for one in links(html, "queue:DLQ") if "draft" in one)
    assert filters_of(edited) == ["state:dead"]
    assert 'value="queue:DLQ" placeholder' in client.get(edited).content.decode()


def test_a_filter_is_brought_into_its_normal_form(sign_in: SignIn) -> None:
    client = sign_in("viewer")

    answer = client.get(PAGE, {"f": ["is:dead  queue:orders", ""]})

    assert answer.status_code == 302
    assert filters_of(answer["Location"]) == ["state:dead", "queue:orders"]
    assert client.get(answer["Location"]).status_code == 200
    assert client.get(PAGE, {"f": ""})["Location"] == PAGE


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("dead letter", "state:dead"),
        ("DLQ", "queue:DLQ"),
        ("orders", "origin:orders"),
        ("a*b", 'type:"a*b"'),
        ("no such customer 17", "fingerprint:"),
        ("used up", "cause:max-delivery-attempts"),
        ("shop", "producer:shop"),
        ("1", "tries:1"),
    ],
)
def test_a_value_of_a_row_adds_itself_to_the_filter(
    sign_in: SignIn, text: str, term: str
) -> None:
    (letter,) = make_dead_letters(1, subject="a*b", producer="shop")
    client = sign_in("operator")
    html = page(client, "size:<10")

    found = [one for one in links(html, text) if one.startswith("?")]
    added = [filters_of(one) for one in found]
    (wanted,) = [one for one in added if one[-1].startswith(term)]

    assert wanted[0] == "size:<10"
    assert listed(page(client, *wanted)) == [letter]


def test_a_value_takes_the_place_of_another_of_its_key(sign_in: SignIn) -> None:
    make_queue("orders")
    put("orders")

    html = page(sign_in("viewer"), "queue:orders,other")

    (link,) = [one for one in links(html, "orders") if one.startswith("?f=queue")][-1:]
    assert filters_of(link) == ["queue:orders"]


def test_counts_are_exact_or_say_that_there_are_more(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_results, "SEARCH", Effort(seconds=60))
    monkeypatch.setattr(search_results, "TOGETHER_S", 60)
    make_queue("orders")
    put_many(make_messages(60))
    client = sign_in("operator")
    assert "60 match, on all queues" in said(client, "queue:orders")
    assert "1 matches, on all queues" in said(client, "body:17")

    put_many(make_messages(1000))
    assert "1,000 or more match" in said(client, "queue:orders")


def test_pages_follow_each_other_and_lead_back(sign_in: SignIn) -> None:
    make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(120))]
    client = sign_in("viewer")

    first = page(client, "queue:orders")
    (second_url,) = links(first, "Next")
    second = client.get(PAGE + second_url).content.decode()
    (third_url,) = links(second, "Next")
    third = client.get(PAGE + third_url).content.decode()

    assert listed(first) + listed(second) + listed(third) == ids[::-1]
    assert filters_of(third_url) == ["queue:orders"]
    assert not links(third, "Next")
    (back,) = links(third, "Previous")
    assert listed(client.get(PAGE + back).content.decode()) == listed(second)
    assert "120 match" in words(third)


def test_a_cursor_that_nobody_gave_out_begins_anew(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    for after in ("x", "1.x", "-1.1"):
        answer = client.get(PAGE, {"f": "state:dead", "after": after})
        assert answer["Location"] == f"{PAGE}?f=state%3Adead"


def test_a_search_that_stopped_says_so_and_goes_on(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(40))]
    monkeypatch.setattr(walking, "FIRST_SCAN", 5)
    monkeypatch.setattr(walking, "OF_BODIES", 5)
    monkeypatch.setattr(walking, "STRIDE", 5)
    monkeypatch.setattr(walking, "QUICK_S", 0)
    monkeypatch.setattr(pages, "LOOKS", 2)
    client = sign_in("operator")

    html = page(client, "body:7")
    seen = words(html)
    assert "Looked at 10 of about 40 messages, the newest first; 1 found so far" in seen
    assert "25 % of the range of message numbers" in seen
    assert "or more match" in seen
    assert listed(html) == [ids[36]]

    nothing = page(client, "body:12")
    assert "Looked at 10 of about 40 messages, the newest first; 0 found" in words(
        nothing
    )
    assert "No messages match" not in nothing
    (on,) = links(nothing, "Go on with older ones")
    assert filters_of(on) == ["body:12"]
    url = on
    for _ in range(3):
        html = client.get(PAGE + url).content.decode()
        if listed(html):
            break
        (url,) = links(html, "Go on with older ones")
    assert listed(html) == [ids[11]]


def test_what_messages_say_is_shown_for_what_it_is(sign_in: SignIn) -> None:
    make_queue("orders")
    hostile = '<script>alert(1)</script>"\u202e\x07'
    put("orders", subject=hostile, producer=hostile, content_type=hostile)
    client = sign_in("operator")

    html = page(client)

    assert "<script>alert" not in html
    assert "<mark>[U+202E][BEL]</mark>" in html
    assert not INLINE.search(html)
    (link,) = [
        one for one in links(html, "alert(1)") if filters_of(one)[0][:5] == "type:"
    ]
    assert len(listed(client.get(PAGE + link).content.decode())) == 1


def test_a_value_that_is_too_long_for_a_filter_is_no_link(sign_in: SignIn) -> None:
    make_queue("orders")
    put("orders", subject="x" * 3000)
    html = page(sign_in("operator"))
    assert "characters more" in html
    assert not links(html, "xxx")


def test_only_what_nobody_has_can_be_ticked(sign_in: SignIn) -> None:
    make_queue("orders")
    first, second = (one.message_id for one in put_many(make_messages(2)))
    UnitOfWork().get("orders")
    client = sign_in("operator")

    html = page(client, "queue:orders")

    assert [one.split(".")[0] for one in items(html)] == [str(second)]
    assert "Act on all 1 that match…" in words(html)
    assert "The other 1 are in flight or discarded." in words(html)
    assert listed(html) == [second, first]


def test_the_two_choices_say_what_they_are_about(sign_in: SignIn) -> None:
    make_queue("orders")
    put_many(make_messages(60))
    client = sign_in("operator")

    seen = said(client, "queue:orders")
    assert "Act on those selected on this page…" in seen
    assert "Act on all 60 that match…" in seen

    everything = page(client)
    (button,) = LexborHTMLParser(everything).css('button[aria-describedby="no-all"]')
    assert "disabled" in button.attributes
    assert button.text() == "Act on all that match…"
    assert "Filter first, to act on more than this page." in words(everything)


def test_viewers_are_told_who_may_act(sign_in: SignIn) -> None:
    make_queue("orders")
    put("orders")
    html = page(sign_in("viewer"), "queue:orders")
    assert "Users with the role operator may move" in words(html)
    assert not items(html)


def test_looking_changes_nothing(sign_in: SignIn) -> None:
    make_scene()
    before = list(Message.objects.order_by("pk").values_list("pk", flat=True))
    client = sign_in("operator")
    first = listed(page(client))

    assert listed(page(client)) == first
    assert list(Message.objects.order_by("pk").values_list("pk", flat=True)) == before


@pytest.mark.usefixtures("badge_is_known")
def test_a_page_takes_few_queries_however_much_there_is(
    sign_in: SignIn, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_queue("orders")
    put_many(make_messages(200))
    client = sign_in("operator")

    with django_assert_max_num_queries(30):
        assert len(listed(page(client, "queue:orders"))) == 50


def test_pages_of_queues_and_groups_lead_here(sign_in: SignIn) -> None:
    letters = make_dead_letters(2)
    client = sign_in("operator")

    queue = client.get("/queues/orders/").content.decode()
    (url,) = links(queue, "Find messages")
    assert filters_of(url) == ["queue:orders"]

    groups = client.get("/dead/").content.decode()
    (group,) = links(groups, "no such customer {n}")
    (url,) = links(client.get(group).content.decode(), "Search these messages")
    assert [one.partition(":")[0] for one in filters_of(url)] == [
        *("state", "fingerprint", "origin", "cause", "queue"),
    ]
    assert listed(client.get(url).content.decode()) == letters[::-1]
