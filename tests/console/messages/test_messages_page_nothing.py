"""The page of messages where it lists nothing: no match, or nothing can be asked."""

from __future__ import annotations

import pytest
from django.test import Client

from broker.errors.messages import SearchTooLong
from broker.monitoring import search
from broker.monitoring.search import walking
from broker.queueing.put import put, put_many
from tests.broker.dying import make_dead_letters
from tests.console.conftest import SignIn
from tests.console.layout.test_frame import INLINE
from tests.console.messages.finding import PAGE, filters_of, links, listed, page, said
from tests.console.messages.test_messages import words
from tests.make import make_messages, make_queue, make_user


def test_where_nothing_matches_each_term_says_what_it_leaves_out(
    sign_in: SignIn,
) -> None:
    make_queue("orders")
    put_many(make_messages(3, properties={"tenant": "t8"}))
    client = sign_in("operator")

    html = page(client, "state:ready", "h.tenant:t7")

    seen = words(html)
    assert "No messages match." in seen
    assert "3 without h.tenant:t7" in seen
    assert "0 without state:ready" in seen
    assert seen.index("3 without") < seen.index("0 without")
    (more,) = links(html, "3")
    assert len(listed(client.get(more).content.decode())) == 3


def test_an_empty_broker_says_what_will_be_here(sign_in: SignIn) -> None:
    seen = said(sign_in("viewer"))
    assert "There are no messages on the queues that you may see." in seen


def test_a_filter_that_cannot_be_read_says_where_and_what_to_do(
    sign_in: SignIn,
) -> None:
    make_dead_letters(1)
    client = sign_in("operator")

    html = page(client, "state:dead", "queu:<i>", status=400)

    seen = words(html)
    assert "There was no search." in seen
    assert "there is no key queu; did you mean queue?" in seen
    assert "wrong at character 1" in seen
    assert "<mark><bdi>queu:&lt;i&gt;</bdi></mark>" in html
    assert 'value="queu:&lt;i&gt;"' in html
    (without,) = links(html, "search without it")
    assert filters_of(without) == ["state:dead"]
    assert not INLINE.search(html)


def test_too_many_terms_are_told_without_a_place(sign_in: SignIn) -> None:
    terms = [f"queue:q{n}" for n in range(33)]
    seen = said(sign_in("viewer"), *terms, status=400)
    assert "a filter has at most 32 terms" in seen
    assert "Remove some terms." in seen


def test_payloads_are_not_asked_for_by_who_may_not_read_them(sign_in: SignIn) -> None:
    make_queue("orders")
    put("orders", b"x")
    seen = said(sign_in("viewer"), "queue:orders", "body:x", status=403)
    assert "need the permission broker.browse_queue" in seen
    assert "Remove that term" in seen


def test_a_search_that_takes_too_long_keeps_its_filter(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise SearchTooLong(walking.PATIENCE)

    monkeypatch.setattr(search, "find", never)
    html = page(sign_in("viewer"), "state:dead", status=503)

    assert "stopped after 10 seconds. Narrow it" in words(html)
    assert links(html, "Without state:dead")


def test_what_one_may_not_inquire_is_not_there(client: Client, db: None) -> None:
    make_queue("secret")
    make_queue("orders")
    put("secret")
    put("orders", subject="mine")
    client.force_login(
        make_user(
            permissions=("broker.view_queue",), granted=("inquire",), pattern="orders"
        )
    )

    html = page(client)

    assert "secret" not in html
    assert len(listed(html)) == 1
    assert "No messages match" in said(client, "queue:secret")


def test_the_page_is_for_those_who_may_look(client: Client, db: None) -> None:
    assert client.get(PAGE).status_code == 302
    client.force_login(make_user())
    assert client.get(PAGE).status_code == 403
