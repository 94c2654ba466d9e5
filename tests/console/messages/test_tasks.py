"""Tasks by name, and the arguments of one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from broker.queueing.put import put
from console.bodies.calls import Call, call_of
from tests.console.commanding import told
from tests.console.conftest import SignIn
from tests.console.letters import attempt, die, make_places
from tests.console.messages.test_messages import EVIL, words
from tests.make import make_queue, minutes

SEND = {"task": "shop.tasks.send"}
DJANGO = b'{"args": [17], "kwargs": {"to": "a@b.c"}}'
CELERY = b'[[17], {"to": "a@b.c"}, {"chain": null}]'


@pytest.mark.parametrize("body", [DJANGO, CELERY])
def test_the_arguments_of_a_task_are_read(body: bytes) -> None:
    assert call_of(SEND, body) == Call(
        "shop.tasks.send", [("1", "17"), ("to", '"a@b.c"')]
    )


@pytest.mark.parametrize(
    ("properties", "body"),
    [
        ({}, DJANGO),
        ({"task": 7}, DJANGO),
        (SEND, b"no JSON"),
        (SEND, b"[" * 100_000),
        (SEND, b"[" * 30_000),
        (SEND, b'{"args": 1, "kwargs": []}'),
        (SEND, b"[1, 2]"),
        (SEND, b"17"),
    ],
)
def test_what_is_no_task_has_no_arguments(properties: Any, body: bytes) -> None:
    assert call_of(properties, body) is None


def test_many_arguments_and_long_ones_are_cut() -> None:
    body = json.dumps({"args": ["x" * 1000] * 52, "kwargs": {}}).encode()

    call = call_of(SEND, body)

    assert call is not None
    assert (len(call.arguments), call.more) == (50, 2)
    assert len(call.arguments[0][1]) == 501


@pytest.mark.django_db
def test_a_page_lists_tasks_with_what_failed_first(sign_in: SignIn) -> None:
    cache.clear()
    make_places()
    now = timezone.now()
    die("ValueError: row 7 is bad", properties=SEND, body=DJANGO, now=now - minutes(9))
    put("orders", DJANGO, properties=SEND)
    put("orders", DJANGO, properties=SEND)
    attempt(now=now)
    put("orders", CELERY, properties={"task": EVIL})

    html = sign_in("viewer").get(reverse("console:tasks")).content.decode()

    said = words(html)
    assert said.index("shop.tasks.send") < said.index("alert")
    assert "1 × ValueError: row {n} is bad" in said
    assert "shop.tasks.send on orders 1 1 × " in said
    assert "p50 12 ms p95 12 ms" in said
    assert "f=h.task%3Ashop.tasks.send&amp;f=state%3Adead" in html
    assert "<script>alert" not in html


@pytest.mark.django_db
def test_without_tasks_the_page_says_what_they_are(sign_in: SignIn) -> None:
    cache.clear()

    html = sign_in("viewer").get(reverse("console:tasks")).content.decode()

    assert "There are no tasks." in words(html)


@pytest.mark.django_db
def test_a_message_that_is_a_task_shows_its_arguments(sign_in: SignIn) -> None:
    make_queue()
    number = put("orders", DJANGO, properties=SEND).message_id
    page = reverse("console:message", args=[number])

    as_operator = sign_in("operator").get(page).content.decode()
    as_viewer = sign_in("viewer").get(page).content.decode()

    assert "Argument Value 1 17 to &quot;a@b.c&quot;" in words(as_operator).replace(
        '"', "&quot;"
    )
    assert "Run again with other arguments…" in words(as_operator)
    assert "Run again" not in words(as_viewer)


@pytest.mark.django_db
def test_the_command_line_and_the_api_list_them(sign_in: SignIn) -> None:
    cache.clear()
    make_queue()
    put("orders", DJANGO, properties=SEND)

    (row,) = sign_in("viewer").get("/api/v1/tasks").json()["tasks"]
    (line,) = told("task", "list", "--user", "viewer")["tasks"]

    assert row == line
    assert row["task"] == "shop.tasks.send"
    assert (row["ready"], row["queues"]) == (1, ["orders"])
