"""The page of one message: what happened, where it is, what can be done; no more."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from broker import sql
from broker.models import Message, Queue, RoutingType
from broker.queueing.put import put
from broker.settlement import expiry
from broker.transactions.scope import unit_of_work
from tests.console.conftest import SignIn
from tests.console.letters import attempt, die, make_places
from tests.make import NOON, make_queue, make_setting, make_user, seconds

NOBODY_READS = "You can see counts but not message bodies."


def page(client: Client, message_id: int) -> str:
    answer = client.get(reverse("console:message", args=[message_id]), follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def words(html: str) -> str:
    """What one reads, on one line."""
    main = html[html.index("<main") : html.index("</main")]
    flow = re.sub(r"</?(a|bdi|mark|small|span|strong|time|wbr)\b[^>]*>", "", main)
    return " ".join(unescape(re.sub("<[^>]*>", " ", flow)).split())


def body_of(html: str) -> str:
    found = re.search(r'<(pre|div) class="body-text".*?</\1>', html, re.S)
    assert found
    return found[0]


@pytest.fixture
def orders(db: None) -> Queue:
    return make_places(attempts=3, delay_ms=4000)


def test_a_dead_letter_says_why_and_what_to_do(sign_in: SignIn, orders: Queue) -> None:
    letter = die("LookupError: customer 4711 is not known yet", attempts=3)

    html = page(sign_in("operator"), letter.message_id)

    said = words(html)
    assert "It is a dead letter on DLQ" in said
    assert (
        "All 3 attempts on orders were backed out, the last one with this error:"
        in said
    )
    assert "LookupError: customer 4711 is not known yet" in said
    assert f"Message {letter.origin_id} copy 1 Resubmit" in said  # told once, below
    assert "Timeline The original" in said
    assert "Copy 1, this one from the original" in said
    assert "Attempt 2 of 3: backed out after 12 ms" in said
    assert f'action="{reverse("console:plan_resubmit")}"' in html
    assert f'name="message" value="{letter.message_id}"' in html


def test_where_it_is_is_said_in_one_sentence(sign_in: SignIn, orders: Queue) -> None:
    client = sign_in("viewer")
    message_id = put("orders", now=NOON).message_id
    assert "It is ready on orders" in words(page(client, message_id))

    Queue.objects.update(paused=True)
    assert "orders is paused, so no consumer gets it." in words(
        page(client, message_id)
    )
    Queue.objects.update(paused=False)

    with unit_of_work(actor="shop.handle") as work:
        work.get("orders")
        said = words(page(client, message_id))
        assert "A consumer has it: attempt 1 of 3 on orders" in said
        assert f"in unit of work {work.id}" in said
        work.back_out("ValueError: no")
    said = words(page(client, message_id))
    assert "It waits for attempt 2 of 3 on orders, due" in said
    assert "waits until" in said

    attempt(now=timezone.now() + seconds(60))
    said = words(page(client, message_id))
    assert "It was accepted on orders in attempt 2" in said
    assert "It was processed by shop.handle" in said


def test_what_waits_for_its_time_says_when(sign_in: SignIn, orders: Queue) -> None:
    later = timezone.now() + timedelta(hours=2)
    message_id = put("orders", deliver_at=later).message_id

    said = words(page(sign_in("viewer"), message_id))

    assert "It waits on orders, as its sender asked." in said
    assert "in 1 h 59 min" in said


def test_what_is_lost_says_so_and_how_to_keep_the_next(
    sign_in: SignIn, orders: Queue
) -> None:
    client = sign_in("viewer")
    make_queue("lossy")
    make_setting("lossy", max_delivery_attempts=1)
    discarded = put("lossy", now=NOON).message_id
    attempt("boom", queue="lossy")
    expired = put("lossy", expires_at=NOON, now=NOON - seconds(1)).message_id
    assert "Its time to live is over" in words(page(client, expired))
    expiry.expire(limit=1)

    said = words(page(client, discarded))
    assert "It was discarded" in said
    assert "set a dead letter address for lossy under Settings" in said
    assert "It expired on lossy before it was delivered" in words(page(client, expired))


def test_a_message_on_two_queues_is_in_two_places(sign_in: SignIn, db: None) -> None:
    for name in ("left", "right"):
        make_queue(name, address="news", routing_type=RoutingType.MULTICAST)
    message_id = put("news").message_id
    attempt("no", queue="left", now=timezone.now())

    said = words(page(sign_in("viewer"), message_id))

    assert "It is ready on left" in said
    assert "It is ready on right" in said


def test_who_may_not_browse_sees_everything_but_what_is_inside(
    sign_in: SignIn, orders: Queue
) -> None:
    message_id = put("orders", b"secret body", properties={"pin": "4711"}).message_id
    client = sign_in("viewer")

    html = page(client, message_id)

    assert NOBODY_READS in words(html)
    assert "secret" not in html
    assert "pin" not in words(html)
    answer = client.get(reverse("console:body", args=[message_id]))
    assert answer.status_code == 403


def test_who_may_not_resubmit_is_told_who_may(sign_in: SignIn, orders: Queue) -> None:
    letter = die(attempts=3)

    html = page(sign_in("viewer"), letter.message_id)

    assert "Users with the role operator may resubmit." in html
    assert reverse("console:plan_resubmit") not in html


EVIL = "<script>alert(1)</script>\"'\u202egnp.exe{{ 7 }}{% now %}"


def test_nothing_that_anybody_wrote_becomes_part_of_the_page(
    sign_in: SignIn, orders: Queue
) -> None:
    fields = ("message_id", "correlation_id", "reply_to", "subject", "group_id")
    letter = die(
        EVIL + "\x1b[31m" + "x" * 2**20,
        attempts=3,
        body=f"{EVIL}\0<img src=x onerror=alert(1)>".encode(),
        content_type=f"text/{EVIL}",
        properties={EVIL: [EVIL, {"a": EVIL}]},
        producer=EVIL,
        **dict.fromkeys(fields, EVIL),
    )
    client = sign_in("operator")

    for message_id in (letter.message_id, letter.origin_id):
        html = page(client, message_id)
        assert "<script>alert" not in html
        assert "<img" not in html
        assert "\u202e" not in html
        assert "\x1b" not in html
        assert "\0" not in html
        assert "<mark>[U+202E]</mark>gnp.exe" in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;" in html
        assert len(html) < 200_000


def test_a_body_is_laid_out_and_its_hidden_characters_are_marked(
    sign_in: SignIn, orders: Queue
) -> None:
    body = '{"id": 12345678901234567890, "name": "\u202eevil"}'.encode()
    message_id = put("orders", body, content_type="application/json").message_id

    html = body_of(page(sign_in("operator"), message_id))

    assert html.count('<span class="line"') == 4
    assert "12345678901234567890" in html
    assert "<mark>[U+202E]</mark>evil" in html


def test_of_a_long_body_the_beginning_is_read_and_all_can_be_had(
    sign_in: SignIn, orders: Queue
) -> None:
    body = b"<b>" + bytes(range(256)) * 2**14
    message_id = put("orders", body, content_type="text/html").message_id
    client = sign_in("operator")

    html = page(client, message_id)
    answer = client.get(reverse("console:body", args=[message_id]))

    assert "The first 64 KiB are shown." in words(html)
    assert "Download all 4 MiB" in words(html)
    assert answer.content == body
    assert answer["Content-Type"] == "application/octet-stream"
    assert answer["Content-Disposition"].startswith("attachment")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert "no-store" in answer["Cache-Control"]


def test_an_empty_body_is_called_empty(sign_in: SignIn, orders: Queue) -> None:
    message_id = put("orders").message_id

    assert "The body is empty." in words(page(sign_in("operator"), message_id))


def test_a_message_past_its_retention_still_has_its_life_line(
    sign_in: SignIn, orders: Queue
) -> None:
    message_id = put("orders", b"x", now=NOON).message_id
    attempt(now=NOON + seconds(1))
    Message.objects.filter(pk=message_id).delete()

    said = words(page(sign_in("operator"), message_id))

    assert "past its retention" in said
    assert "It was accepted on orders in attempt 1" in said


def test_a_message_older_than_the_journal_still_has_its_body(
    sign_in: SignIn, orders: Queue
) -> None:
    message_id = put("orders", b"still here").message_id
    attempt(now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM broker_event")

    html = page(sign_in("operator"), message_id)

    assert "How it ended is no longer known" in words(html)
    assert "still here" in html


def test_a_queue_that_is_gone_breaks_nothing(sign_in: SignIn, orders: Queue) -> None:
    message_id = put("orders", now=NOON).message_id
    attempt(now=NOON)
    Queue.objects.filter(pk=orders.pk).delete()

    said = words(page(sign_in("operator"), message_id))

    assert f"It was accepted on queue {orders.pk} (gone) in attempt 1" in said


@pytest.mark.parametrize("message_id", [0, 999_999_999, 2**63, 10**40])
def test_a_message_that_nobody_remembers_is_not_found(
    sign_in: SignIn, message_id: int
) -> None:
    client = sign_in("operator")

    for name in ("console:message", "console:body"):
        assert client.get(reverse(name, args=[message_id])).status_code == 404


def test_looking_changes_nothing(sign_in: SignIn, orders: Queue) -> None:
    message_id = put("orders", b"x").message_id
    tables = ("ready", "claim", "delayed", "event", "message", "unit_of_work")

    def everything() -> list[object]:
        rows: list[object] = []
        with connection.cursor() as cursor:
            for table in tables:
                cursor.execute(f"SELECT t.ctid, t::text FROM broker_{table} AS t")
                rows.append(sorted(map(str, cursor.fetchall())))
        return rows

    client, before = sign_in("operator"), everything()
    page(client, message_id)
    client.get(reverse("console:body", args=[message_id]))

    assert everything() == before


@pytest.mark.usefixtures("badge_is_known")
def test_the_page_asks_a_fixed_number_of_questions(
    sign_in: SignIn,
    orders: Queue,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    letter = die(attempts=3)
    client = sign_in("operator")
    asked: list[str] = []

    def counted(name: str, parameters: dict[str, Any]) -> list[tuple[Any, ...]]:
        asked.append(name)
        return run(name, parameters)

    run = sql.run
    monkeypatch.setattr(sql, "run", counted)
    with django_assert_max_num_queries(27):
        page(client, letter.origin_id)

    related = ["copies", "related_by_id", "related_by_work"]
    explained = ["explain", "explain_consumers", "lifeline"]
    # For the badge, which is kept for a while.
    around = ["dead_letter_groups", "now"]
    around += ["held_by", "held_by", "held_by"]
    assert sorted(asked) == sorted(
        [*explained, *related, *around, *["lifeline", "originals", "where_is"] * 2]
    )


def test_nobody_looks_without_the_permission(client: Client, orders: Queue) -> None:
    message_id = put("orders").message_id
    url = reverse("console:message", args=[message_id])

    assert client.get(url).status_code == 302
    client.force_login(make_user())
    assert client.get(url).status_code == 403
