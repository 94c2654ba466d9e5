"""Messages that wait for their time, on one page for all queues."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from broker.queueing.put import put
from tests.console.conftest import SignIn
from tests.console.letters import attempt
from tests.console.messages.test_messages import EVIL, words
from tests.make import make_queue, make_setting, make_user, minutes, seconds

pytestmark = pytest.mark.django_db


def page(client: Client, **query: str) -> str:
    answer = client.get(reverse("console:scheduled"), query)
    assert answer.status_code == 200
    return answer.content.decode()


def wait(queue: str = "orders", *, after_s: float = 60, **fields: object) -> int:
    at = timezone.now() + seconds(after_s)
    return put(queue, deliver_at=at, **fields).message_id  # type: ignore[arg-type]


def test_nothing_that_waits_is_explained(sign_in: SignIn) -> None:
    assert "Nothing is delayed." in words(page(sign_in("viewer")))


def test_the_next_due_comes_first_with_why_and_what_follows(sign_in: SignIn) -> None:
    make_queue()
    make_queue("bills")
    make_setting(
        max_delivery_attempts=4,
        redelivery_delay_ms=1000,
        redelivery_delay_multiplier=2.0,
        max_redelivery_delay_ms=60_000,
    )
    later = wait("bills", after_s=3600, subject=EVIL)
    sooner = put("orders").message_id
    attempt("no", now=timezone.now())

    html = page(sign_in("operator"))

    said = words(html)
    assert said.index(str(sooner)) < said.index(str(later))
    assert "attempt 2 of 4" in said
    assert "2 s, 4 s all delays" in said
    assert "its sender asked for it" in said
    assert "<script>alert" not in html
    assert (
        f"{reverse('console:order', args=['orders'])}?which=ticked&amp;place=delayed"
        f"&amp;kind=deliver&amp;message={sooner}"
    ) in html


def test_the_last_attempt_says_that_nothing_follows(sign_in: SignIn) -> None:
    make_queue()
    make_setting(max_delivery_attempts=2, redelivery_delay_ms=60_000)
    put("orders")
    attempt("no", now=timezone.now())

    assert "this is the last attempt" in words(page(sign_in("viewer")))


def test_deliver_now_leads_to_the_order_for_just_that(sign_in: SignIn) -> None:
    make_queue()
    one = wait()
    client = sign_in("operator")
    ticked = {"which": "ticked", "message": str(one)}
    query = ticked | {"place": "delayed", "kind": "deliver"}

    answer = client.get(reverse("console:order", args=["orders"]), query)

    said = words(answer.content.decode())
    assert answer.status_code == 200
    assert f"message {one} on orders" in said
    assert "Deliver now" in said


def test_who_may_not_act_is_offered_nothing(sign_in: SignIn) -> None:
    make_queue()
    wait()

    assert not {"Deliver now", "Change the time"} & set(
        re.findall("Deliver now|Change the time", page(sign_in("viewer")))
    )


def test_what_is_late_says_so(sign_in: SignIn) -> None:
    make_queue()
    put(
        "orders",
        deliver_at=timezone.now() - minutes(1),
        now=timezone.now() - minutes(9),
    )

    assert "late" in words(page(sign_in("viewer")))


def test_one_page_after_the_other_and_one_queue_of_many(
    sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.messages.pages.scheduled.PAGE", 2)
    make_queue()
    make_queue("bills")
    ids = [wait("orders" if n % 2 else "bills", after_s=60 + n) for n in range(5)]
    client = sign_in("viewer")
    path = reverse("console:scheduled")

    listed, query = [], "?"
    while query:
        context = client.get(path + query).context
        listed += [row.entry.message_id for row in context["rows"]]
        query = context["next"]

    assert listed == ids
    of_one = client.get(path, {"queue": "orders"}).context["rows"]
    assert {row.queue for row in of_one} == {"orders"}
    assert client.get(path, {"after": "no cursor"}).status_code == 302


def test_one_sees_only_what_one_may_inquire(client: Client) -> None:
    make_queue()
    make_queue("bills")
    wait()
    seen = wait("bills")
    user = make_user("vera", permissions=("broker.view_queue",), pattern="bills")
    client.force_login(user)

    said = words(page(client))

    assert str(seen) in said
    assert "orders" not in said
    assert "orders" not in words(page(client, queue="bills"))


def test_the_questions_do_not_grow_with_what_waits(sign_in: SignIn) -> None:
    make_queue()
    wait()
    client = sign_in("operator")
    page(client)
    counts = []
    for count in (1, 20):
        for _ in range(count):
            wait()
        with CaptureQueriesContext(connection) as asked:
            page(client)
        counts.append(len(asked))

    assert counts[0] == counts[1]
