"""Finding messages through the API: what is told, who may ask, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from broker.queueing.put import put, put_many
from tests.broker.dying import make_dead_letters
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.make import make_messages, make_queue, make_user

MESSAGES = f"{ROOT}/messages"
COUNT = f"{ROOT}/messages/count"


def found(client: Client, *filters: str, **query: Any) -> dict[str, Any]:
    answer = client.get(MESSAGES, {"f": filters, **query})
    assert answer.status_code == 200, answer.content
    told: dict[str, Any] = answer.json()
    return told


def test_messages_are_found_by_a_filter(sign_in: SignIn) -> None:
    make_queue("other")
    put("other", subject="order")
    (letter,) = make_dead_letters(1, subject="order")

    told = found(sign_in("operator"), "is:dead   type:ord*")

    assert told["filter"] == "state:dead type:ord*"
    assert (told["next"], told["is_limited"]) == (None, False)
    (one,) = told["messages"]
    assert (one["message_id"], one["queue"], one["state"]) == (letter, "DLQ", "dead")
    assert (one["subject"], one["tries"]) == ("order", 1)
    assert one["cause"] == "MAX_DELIVERY_ATTEMPTS"
    assert one["died_at"].endswith("Z")


def test_several_filters_are_met_together(sign_in: SignIn) -> None:
    make_queue("orders")
    put_many(make_messages(3))
    client = sign_in("operator")

    (one,) = found(client, "queue:orders", "body:2")["messages"]

    assert one["size_bytes"] == 1
    assert client.get(COUNT, {"f": ["queue:orders", "-body:2"]}).json() == {
        "filter": "queue:orders -body:2",
        "messages": 2,
        "is_exact": True,
        "looked_at": 3,
    }


def test_pages_follow_each_other(sign_in: SignIn) -> None:
    make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(5))]
    client = sign_in("viewer")

    seen: list[int] = []
    after: str | None = ""
    while after is not None:
        told = found(client, limit=2, after=after)
        seen += [one["message_id"] for one in told["messages"]]
        after = told["next"]

    assert seen == ids[::-1]


def test_a_filter_that_cannot_be_read_is_a_problem(sign_in: SignIn) -> None:
    client = sign_in("viewer")

    told = problem(client.get(MESSAGES, {"f": "queu:orders"}), 400)

    assert told["code"] == "invalid-filter"
    assert "did you mean queue?" in told["detail"]
    assert told["errors"] == [
        {
            "where": ["filter", 1],
            "what": "there is no key queu; did you mean queue?"
            " (in quotes, it is looked for as words)",
        }
    ]
    assert problem(client.get(COUNT, {"f": "a\0"}), 422)["code"] == "invalid-request"


@pytest.mark.parametrize(
    "query",
    [
        {"after": "x"},
        {"after": "9999999999999999999.1"},
        {"after": "1.9999999999"},
        {"limit": 0},
        {"limit": 201},
        {"f": ["a"] * 33},
    ],
)
def test_a_query_that_cannot_be_is_a_problem(
    sign_in: SignIn, query: dict[str, Any]
) -> None:
    told = problem(sign_in("viewer").get(MESSAGES, query), 422)
    assert told["code"] == "invalid-request"


def test_what_may_not_be_inquired_is_not_found(client: Client, db: None) -> None:
    make_queue("orders")
    make_queue("secret")
    put("orders")
    put("secret")
    may_look = ("broker.view_queue",)
    client.force_login(
        make_user(permissions=may_look, granted=("inquire",), pattern="orders")
    )

    assert [one["queue"] for one in found(client)["messages"]] == ["orders"]
    assert found(client, "queue:secret")["messages"] == []
    assert client.get(COUNT).json()["messages"] == 1


@pytest.mark.parametrize(
    "text", ["body:x", "-body:x", "h.tenant:t7", "h.n:>1", "body.a:1", "-body.a:>1"]
)
def test_payloads_are_not_guessed_by_who_may_not_read_them(
    sign_in: SignIn, client: Client, text: str
) -> None:
    make_queue("orders")
    put("orders", b"x", properties={"tenant": "t7", "n": 7})

    told = problem(sign_in("viewer").get(MESSAGES, {"f": text}), 403)

    assert told["code"] == "not-permitted"
    assert "broker.browse_queue" in told["detail"]


@pytest.mark.parametrize("text", ["body:x", "h.tenant:t7", "body.x:1"])
def test_payloads_are_looked_at_where_they_may_be_browsed(
    client: Client, db: None, text: str
) -> None:
    for name in ("orders", "other"):
        make_queue(name)
        put(name, b'{"x": 1}', properties={"tenant": "t7"})
    permissions = ("broker.view_queue", "broker.browse_queue")
    user = make_user(permissions=permissions, granted=("inquire",))
    client.force_login(user)
    assert found(client, text)["messages"] == []

    client.force_login(make_user("olga", permissions=permissions, pattern="other"))
    assert [one["queue"] for one in found(client, text)["messages"]] == ["other"]


def test_who_has_not_signed_in_or_may_not_look_finds_nothing(
    client: Client, db: None
) -> None:
    for page in (MESSAGES, COUNT):
        assert problem(client.get(page), 401)["code"] == "not-signed-in"
    client.force_login(make_user())
    for page in (MESSAGES, COUNT):
        assert problem(client.get(page), 403)["code"] == "not-permitted"


def test_a_page_takes_few_queries_however_much_there_is(
    sign_in: SignIn, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    make_queue("orders")
    put_many(make_messages(60))
    client = sign_in("operator")

    with django_assert_max_num_queries(13):
        assert len(found(client)["messages"]) == 50
