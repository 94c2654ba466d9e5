"""What a filter finds as a file: the same set, bounded, and no formula in it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.http.response import HttpResponseBase, StreamingHttpResponse
from django.test import AsyncClient, Client
from django.urls import reverse

from broker.monitoring import search
from broker.queueing.put import put, put_many
from console.messages import export
from tests.broker.dying import make_dead_letters
from tests.broker.found import make_scene
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.console.messages.test_api_finding import found
from tests.make import make_messages, make_queue, make_user

EXPORT = reverse("console:export")
API = f"{ROOT}/messages/export"


def content(answer: HttpResponseBase) -> str:
    assert answer.status_code == 200
    assert isinstance(answer, StreamingHttpResponse)
    return b"".join(answer).decode()


def lines(client: Client, *filters: str, **query: Any) -> list[dict[str, Any]]:
    answer = client.get(EXPORT, {"f": filters, "format": "ndjson", **query})
    return [json.loads(one) for one in content(answer).splitlines()]


def table(client: Client, *filters: str) -> list[dict[str, str]]:
    answer = client.get(EXPORT, {"f": filters, "format": "csv"})
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(content(answer))))


@pytest.mark.parametrize("text", ["state:dead", "queue:*", "body:needle", "priority:9"])
def test_a_file_has_what_the_list_has(sign_in: SignIn, text: str) -> None:
    make_scene()
    client = sign_in("operator")
    listed = found(client, text, limit=200)["messages"]

    exported = lines(client, text)

    assert listed
    assert [(one["message_id"], one["queue"], one["state"]) for one in exported] == [
        (one["message_id"], one["queue"], one["state"]) for one in listed
    ]
    assert set(exported[0]) == set(listed[0]) - {"own"}  # columns of one's own
    rows = table(client, text)
    assert [int(one["message_id"]) for one in rows] == [
        one["message_id"] for one in listed
    ]
    told = json.loads(content(client.get(API, {"f": text})).splitlines()[0])
    assert told == exported[0]


def test_a_file_goes_on_where_a_page_ends(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_queue("orders")
    ids = [one.message_id for one in put_many(make_messages(7))]
    monkeypatch.setattr(export, "PAGE", 2)
    client = sign_in("viewer")

    answer = client.get(EXPORT, {"f": "queue:orders"})
    chunks = list(answer)

    assert [chunk.count(b"\n") for chunk in chunks] == [2, 2, 2, 1]
    exported = [json.loads(one) for chunk in chunks for one in chunk.splitlines()]
    assert [one["message_id"] for one in exported] == ids[::-1]
    assert [int(one["message_id"]) for one in table(client)] == ids[::-1]


def test_a_page_is_looked_for_when_it_is_asked_for(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever there is, one page of it is held."""
    orders = make_queue("orders")
    put_many(make_messages(6))
    monkeypatch.setattr(export, "PAGE", 2)
    asked: list[str] = []
    find = search.find

    def counting(*arguments: Any, **named: Any) -> Any:
        asked.append(named.get("after", ""))
        return find(*arguments, **named)

    monkeypatch.setattr(search, "find", counting)
    chunks = iter(sign_in("viewer").get(EXPORT, {"f": f"queue:{orders.name}"}))

    assert len(asked) == 1
    next(chunks)
    next(chunks)
    assert len(asked) == 2


def test_a_spreadsheet_gets_no_formula(sign_in: SignIn) -> None:
    make_queue("orders")
    formulas = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1"]
    for one in formulas:
        put("orders", subject=one)
    put("orders", subject='a "b", c\nd', producer="a=b")

    rows = table(sign_in("viewer"), "queue:orders")

    assert [one["subject"] for one in rows[1:]] == [f"'{one}" for one in formulas[::-1]]
    assert rows[0]["subject"] == 'a "b", c\nd'
    assert rows[0]["producer"] == "a=b"
    assert rows[0]["priority"] == "4"
    assert rows[0]["put_at"].endswith("Z")


def test_bodies_are_for_who_may_read_them(sign_in: SignIn, client: Client) -> None:
    for name in ("orders", "other"):
        make_queue(name)
        put(name, "für".encode(), properties={"tenant": "t7"})
    put("orders", b"\xff\x00")
    answer = sign_in("viewer").get(EXPORT, {"bodies": "1"})
    assert answer.status_code == 403
    told = problem(client.get(API, {"bodies": "true"}), 403)
    assert "broker.browse_queue" in told["detail"]

    permissions = ("broker.view_queue", "broker.browse_queue")
    client.force_login(make_user(permissions=permissions, pattern="orders"))
    binary, text = lines(client, bodies="1")
    assert (text["body"], text["properties"]) == ("für", {"tenant": "t7"})
    assert (binary["body_base64"], "body" in binary) == ("/wA=", False)
    assert "body" not in lines(client)[0]


def test_bodies_that_are_very_long_are_left_out(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "LONGEST_BODY", 3)
    make_queue("orders")
    put("orders", b"1234")
    put("orders", b"123")

    short, long = lines(sign_in("operator"), bodies="1")

    assert short["body"] == "123"
    assert (long["body"], long["body_left_out"]) == (None, "longer than 3 bytes")


def test_few_bodies_are_held_at_once(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "LONGEST_PARCEL", 5)
    make_queue("orders")
    for body in (b"1", b"22", b"333", b"4444", b"55555", b"666666"):
        put("orders", body)
    client = sign_in("operator")

    chunks = list(client.get(EXPORT, {"f": "queue:orders", "bodies": "1"}))

    told = [[json.loads(one)["body"] for one in part.splitlines()] for part in chunks]
    assert told == [["666666"], ["55555"], ["4444"], ["333", "22"], ["1"]]


def test_a_file_is_a_file_to_every_browser(sign_in: SignIn) -> None:
    answer = sign_in("viewer").get(EXPORT, {"format": "csv"})
    assert answer["Content-Disposition"].startswith('attachment; filename="messages-2')
    assert answer["Content-Disposition"].endswith('.csv"')
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Cache-Control"] == "private, no-store"
    assert Client().get(EXPORT).status_code == 302


def test_what_cannot_be_exported_is_refused_before_the_file_begins(
    sign_in: SignIn,
) -> None:
    client = sign_in("viewer")
    assert client.get(EXPORT, {"f": "queu:x"}).status_code == 400
    assert problem(client.get(API, {"f": "queu:x"}), 400)["code"] == "invalid-filter"
    assert problem(client.get(API, {"format": "xml"}), 422)
    assert client.get(EXPORT, {"f": "body:x"}).status_code == 403


def test_one_s_queues_alone_are_in_it(client: Client, db: None) -> None:
    make_dead_letters(1)
    put("orders")
    client.force_login(
        make_user(
            permissions=("broker.view_queue",), granted=("inquire",), pattern="orders"
        )
    )
    assert {one["queue"] for one in lines(client)} == {"orders"}


async def test_the_server_sends_it_in_turns(transactional_db: None) -> None:
    """As uvicorn asks for it: each page when the one before has been sent."""

    def prepare() -> Any:
        make_queue("orders")
        put_many(make_messages(3))
        return make_user(permissions=("broker.view_queue",))

    user = await sync_to_async(prepare)()
    client = AsyncClient()
    await client.aforce_login(user)

    answer: Any = await client.get(EXPORT, {"format": "ndjson"})

    assert answer.is_async
    parts: AsyncIterator[bytes] = answer.streaming_content
    sent = b"".join([part async for part in parts])
    await sync_to_async(connections.close_all)()  # of the thread that read them
    assert sent.count(b"\n") == 3
