"""The overview: is anything wrong, and where to click."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from broker.alerts.evaluation import evaluate
from broker.models import Alert, AlertRule, Operation, Queue
from broker.models import UnitOfWork as UnitRow
from broker.problems import conditions
from broker.queueing.put import put, put_many
from broker.transactions.prepared import PreparedUnitOfWork
from broker.transactions.scope import UnitOfWork
from console.home.needs import MOST
from tests.console.conftest import SignIn
from tests.console.letters import attempt, die, make_places
from tests.console.messages.test_messages import EVIL, words
from tests.make import (
    NOON,
    make_messages,
    make_queue,
    make_setting,
    make_user,
    minutes,
)

pytestmark = pytest.mark.django_db


def overview(client: Client) -> str:
    answer = client.get(reverse("console:overview"))
    assert answer.status_code == 200
    return answer.content.decode()


def test_where_all_is_well_it_says_so(sign_in: SignIn) -> None:
    make_queue()

    said = words(overview(sign_in("viewer")))

    assert "Nothing needs attention now" in said
    assert "Needs attention now" not in said


def test_without_queues_it_says_what_to_do(sign_in: SignIn) -> None:
    assert "New queue" in words(overview(sign_in("administrator")))


def test_dead_letters_that_grow_come_first_with_their_group(sign_in: SignIn) -> None:
    make_places(attempts=1)
    letter = die(f"ValueError: {EVIL}", attempts=1, now=timezone.now() - minutes(5))

    client = sign_in("viewer")
    html = overview(client)

    said = words(html)
    assert "1 problem needs attention now" in said
    assert "1 new dead letter of orders in the last hour: ValueError:" in said
    assert reverse("console:dead_letter_group", args=[letter.fingerprint]) in html
    assert len(rows(client)) == 1
    assert "<script>alert" not in html


def test_dead_letters_that_only_lie_there_can_wait(sign_in: SignIn) -> None:
    make_places(attempts=1)
    for _ in range(2):
        die(attempts=1, now=timezone.now() - timedelta(hours=5))

    client = sign_in("viewer")
    said = words(overview(client))

    assert "Nothing needs attention now" in said
    assert "can wait until the morning" in said
    assert "2 dead letters." in words(client.get("/alerts/").content.decode())


def test_a_paused_queue_needs_somebody_once_something_waits(sign_in: SignIn) -> None:
    make_queue(paused=True)
    client = sign_in("viewer")
    assert "Nothing needs attention now" in words(overview(client))

    put("orders")

    said = words(overview(client))
    assert "1 problem needs attention now" in said
    assert "orders: 1 wait until somebody resumes it." in said


def test_a_queue_that_nobody_consumes_says_since_when(sign_in: SignIn) -> None:
    make_queue()
    put("orders", now=timezone.now() - minutes(42))

    said = words(overview(sign_in("viewer")))

    assert "orders: 1 ready, and no consumer takes any. The oldest waits since" in said
    assert "42 min" in said


def rows(client: Client, url: str = "/") -> list[str]:
    """The causes on a page, each as the HTML of its row, but for those that do not
    depend on the test: the broker's dead letter queue, and reports of the night."""
    html = client.get(url).content.decode()
    found = re.findall(r'<li id="cause-.*?</li>', html, re.DOTALL)
    others = (settings.BROKER_DEAD_LETTER_QUEUE, "of the night")
    return [
        f"<main>{one}</main>"
        for one in found
        if not any(words in one for words in others)
    ]


def ring(name: str, **rule: object) -> None:
    """Only the alerts of one rule."""
    AlertRule.objects.exclude(name=name).delete()
    AlertRule.objects.update_or_create(name=name, defaults=rule)
    evaluate()


def test_alerts_of_one_thing_are_in_its_row_whatever_their_conditions(
    sign_in: SignIn,
) -> None:
    make_queue()
    put("orders", now=timezone.now() - minutes(42))
    ring("waits", condition="depth", threshold=1)
    client = sign_in("operator")
    AlertRule.objects.update(threshold=9)

    said = [words(one) for one in rows(client)]

    assert len(said) == 1
    assert "no consumer takes any" in said[0]
    assert said[0].count("waits, warning alert") == 1


def test_an_alert_whose_problem_has_just_gone_still_has_a_row(sign_in: SignIn) -> None:
    make_queue(paused=True)
    put("orders")
    ring("pauses", condition="paused")
    Queue.objects.update(paused=False)
    client = sign_in("operator")

    (row,) = rows(client)

    assert "orders: 1 wait until somebody resumes it." in words(row)
    assert reverse("console:queue", args=["orders"]) in row
    assert "1 problem needs attention now" in words(overview(client))


def test_what_somebody_acknowledged_rings_no_more(sign_in: SignIn) -> None:
    make_places(attempts=1)
    die(attempts=1, now=timezone.now() - timedelta(hours=5))
    ring("dead", condition="dead_letters", threshold=1)
    client = sign_in("operator")
    (called,) = rows(client)
    Alert.objects.update(state=Alert.State.ACKNOWLEDGED)

    assert "Acknowledge" in words(called)
    assert rows(client) == []
    said = words(overview(client))
    assert "Nothing needs attention now" in said
    assert "1 acknowledged" in said
    (row,) = rows(client, "/alerts/")
    assert "acknowledged by" in words(row)


def test_a_critical_alert_comes_first(sign_in: SignIn) -> None:
    for number in range(MOST + 3):
        make_queue(f"q{number}", paused=True)
        put(f"q{number}")
    named = f"q{MOST + 2}"
    ring("pauses", condition="paused", queues=named, severity="critical")
    client = sign_in("viewer")

    said = [words(one) for one in rows(client)]

    assert len(said) == MOST
    assert f"{named}: 1 wait" in said[0]
    assert "pauses, critical alert" in said[0]


def test_what_is_late_asks_whether_a_worker_runs(sign_in: SignIn) -> None:
    make_queue()
    make_setting(redelivery_delay_ms=1000)
    put("orders", now=timezone.now() - minutes(9))
    attempt("no", now=timezone.now() - minutes(8))

    html = overview(sign_in("viewer"))

    assert "orders: 1 should be ready by now." in words(html)
    assert f"{reverse('console:scheduled')}?queue=orders" in html


def test_a_unit_of_work_that_lost_its_process_is_told(sign_in: SignIn) -> None:
    make_queue()
    put("orders")
    work = UnitOfWork()
    work.get("orders")
    UnitRow.objects.update(owner_id=2**31 - 1)

    html = overview(sign_in("viewer"))

    assert f"Unit of work {work.id} has no process any more" in words(html)
    assert reverse("console:unit", args=[work.id]) in html


def test_operations_and_connections_are_counted(sign_in: SignIn) -> None:
    make_queue()
    Operation.objects.create(
        kind=Operation.Kind.MOVE,
        state=Operation.State.RUNNING,
        scope="",
        created_by=make_user("ada"),
    )

    said = words(overview(sign_in("viewer")))

    assert "Operations running 1" in said
    assert "Connections 0" in said


def test_one_sees_only_what_one_may_inquire(client: Client) -> None:
    make_queue("bills")
    make_queue("orders", paused=True)
    put("orders")
    user = make_user("vera", permissions=("broker.view_queue",), pattern="bills")
    client.force_login(user)

    said = words(overview(client))

    assert "orders" not in said
    assert "Nothing needs attention now" in said


def test_the_questions_do_not_grow_with_what_there_is(sign_in: SignIn) -> None:
    make_places(attempts=1)
    client = sign_in("viewer")
    overview(client)
    with CaptureQueriesContext(connection) as few:
        overview(client)
    for number in range(30):
        make_queue(f"q{number}", paused=number % 2 == 0)
        put_many(make_messages(3, f"q{number}"))
    die(attempts=1, now=timezone.now() - minutes(1))
    with CaptureQueriesContext(connection) as many:
        overview(client)

    assert len(many) <= len(few) + 1
    assert Queue.objects.count() == 32


def test_who_signs_in_lands_there(client: Client) -> None:
    make_user("vera", permissions=("broker.view_queue",))

    answer = client.post(
        reverse("account_login"), {"username": "vera", "password": "correct horse"}
    )

    assert answer["Location"] == reverse("console:overview")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/?q=or&sort=-ready", "/queues/?q=or&sort=-ready"),
        ("/?page=2", "/queues/?page=2"),
        ("/overview/", "/"),
    ],
)
def test_old_links_lead_to_the_new_pages(sign_in: SignIn, old: str, new: str) -> None:
    answer = sign_in("viewer").get(old)

    assert (answer.status_code, answer["Location"]) == (302, new)


@pytest.mark.parametrize(
    ("count", "sentence"),
    [(1, "1 unit of work waits for"), (2, "2 units of work wait for")],
)
def test_prepared_units_of_work_are_counted_in_good_english(
    monkeypatch: pytest.MonkeyPatch, count: int, sentence: str
) -> None:
    waiting = [PreparedUnitOfWork("x", 1, 1, NOON, 1, 0)] * count
    monkeypatch.setattr("broker.problems.of_work.prepared", lambda: waiting)

    (found,) = conditions.of("prepared")

    assert found.text.startswith(sentence)
