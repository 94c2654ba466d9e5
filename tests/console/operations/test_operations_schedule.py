"""Operations are steered: their pace, what they try first, rests, and ceilings."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from broker import operations
from broker.models import Operation, OperationItem, OperationSchedule, Queue
from broker.monitoring import dead_letters
from broker.monitoring.numbers import public_number
from tests.console.conftest import SignIn
from tests.console.letters import ALL, attempt, die, make_places
from tests.console.messages.test_messages import EVIL, words
from tests.console.operations.ordering import many, part_of, plan, said, url
from tests.make import make_user, plan_resubmit

pytestmark = pytest.mark.django_db

ERROR = "ValueError: row 7 is bad"
CHANGES = ["pause_operation", "carry_on", "pace", "narrow", "take_in"]


@pytest.fixture
def orders() -> Queue:
    return make_places()


@pytest.fixture
def operator(orders: Queue, sign_in: SignIn) -> Client:
    return sign_in("operator")


def begun(operator: Client, count: int = 150, **fields: object) -> Operation:
    many(count)
    operation = plan(operator)
    answer = operator.post(url("start", operation), {"reason": "mended", **fields})
    assert answer.status_code == 302, words(answer.content.decode())
    return operation


def stages(operator: Client, operation: Operation) -> str:
    html = part_of(operator, operation)
    found = re.search(r'<ol class="steps".*?</ol>', html, re.S)
    assert found
    current = re.search(r'aria-current="step">([^<]+)', found[0])
    assert current
    return current[1].strip()


def field(html: str, name: str) -> str:
    found = re.search(rf'<input id="id_{name}"[^>]*value="([^"]*)"', html)
    assert found
    return found[1]


@pytest.mark.parametrize(("count", "canary"), [(1, "0"), (12, "2"), (101, "10")])
def test_a_plan_tries_a_tenth_first_unless_one_says_otherwise(
    operator: Client, count: int, canary: str
) -> None:
    many(count)
    html = part_of(operator, plan(operator))
    assert field(html, "canary") == canary
    assert field(html, "pace") == ""


def test_the_stages_are_gone_through_one_by_one(operator: Client) -> None:
    operation = begun(operator, canary=10)
    assert stages(operator, operation) == "Canary"
    seen = said(operator, url("operation", operation))
    assert "It waits for the canary: 10 that no consumer has had yet." in seen
    assert "If no consumer takes them, it stops at" in seen
    assert "Canary 10 10 0 0 10 0" in seen

    for sent in (30, 90, 20):
        attempt(limit=100)
        assert operations.step(operation.pk) == sent
    assert stages(operator, operation) == "Waiting for outcomes"
    assert "<li>Done</li>" in part_of(operator, operation)
    attempt(limit=200)

    assert stages(operator, operation) == "Done"
    seen = said(operator, url("operation", operation))
    assert "150 sent 150 processed" in seen
    assert "This can no longer be undone:" in seen
    operations.settle(operation.pk)
    seen = said(operator, url("operation", operation))
    assert "Larger parts 140 140 140 0 0 0" in seen


def test_sending_without_a_canary_is_its_own_stage(operator: Client) -> None:
    operation = begun(operator)
    assert stages(operator, operation) == "Sending"
    assert "Canary" not in part_of(operator, operation)


def test_a_plan_stands_before_it_is_frozen_no_more(operator: Client) -> None:
    many(2)
    assert stages(operator, plan(operator)) == "Selected"


def test_it_stops_itself_and_says_at_what(operator: Client) -> None:
    operation = begun(operator, canary=10)
    for _ in range(3):
        attempt(ERROR)
    operations.step(operation.pk)

    seen = said(operator, url("operation", operation))

    assert "It stopped itself. 3 of 10 dead-lettered again, with the same error" in seen
    assert "“ValueError: row {n} is bad”" in seen
    assert "stopped itself" in said(operator, reverse("console:operations"))

    operator.post(url("carry_on", operation))
    assert "It stopped itself" not in said(operator, url("operation", operation))
    assert "operator continued it" in said(operator, url("operation", operation))
    assert operations.step(operation.pk) == 30


def test_what_errors_say_is_shown_as_text(operator: Client) -> None:
    operation = begun(operator, canary=10)
    attempt(EVIL)
    operations.step(operation.pk)

    assert "1 of 10 dead-lettered with a new error" in said(
        operator, url("operation", operation)
    )
    assert "<script>alert" not in part_of(operator, operation)


def test_nobody_takes_them(operator: Client) -> None:
    operation = begun(operator, canary=10)
    patience = timedelta(seconds=settings.BROKER_CANARY_PATIENCE_S)
    operations.step(operation.pk, now=timezone.now() + patience)

    seen = said(operator, url("operation", operation))

    assert "No consumer has taken 10 of the 10 that were tried." in seen


def test_all_the_rest_may_go_at_once(operator: Client) -> None:
    operation = begun(operator, canary=10)

    operator.post(url("carry_on", operation), {"at_once": "1"})

    assert operations.step(operation.pk) == 140
    assert "operator sent all the rest" in said(operator, url("operation", operation))


def test_it_is_paused_and_goes_on(operator: Client) -> None:
    operation = begun(operator)

    operator.post(url("pause_operation", operation))
    seen = said(operator, url("operation", operation))
    assert "It is paused: nothing is done until somebody continues it." in seen
    assert "operator paused it" in seen
    assert operations.step(operation.pk) == 0

    operator.post(url("carry_on", operation))
    assert operations.step(operation.pk) == 50


def test_its_pace_is_said_and_changed(operator: Client) -> None:
    operation = begun(operator, pace=10)
    seen = said(operator, url("operation", operation))
    assert "10 sent 140 to go" in seen
    assert "10 of 150, about 14 s to go. It sends at most 10 a second." in seen

    operator.post(url("pace", operation), {"pace": "5"})
    assert OperationSchedule.objects.get().pace == 5
    assert "operator set its pace to 5 a second" in said(
        operator, url("operation", operation)
    )
    operator.post(url("pace", operation), {"pace": ""})
    assert OperationSchedule.objects.get().pace is None


@pytest.mark.parametrize("pace", ["0", "-1", "100001", "x"])
def test_what_is_no_pace_changes_nothing(operator: Client, pace: str) -> None:
    operation = begun(operator, pace=10)
    answer = operator.post(url("pace", operation), {"pace": pace}, follow=True)
    assert answer.status_code == 200
    assert OperationSchedule.objects.get().pace == 10
    assert "notice-error" in answer.content.decode()


@pytest.mark.parametrize("fields", [{"pace": "0"}, {"canary": "1001"}, {"canary": "x"}])
def test_what_cannot_be_is_refused_at_its_field(
    operator: Client, fields: dict[str, str]
) -> None:
    many(3)
    operation = plan(operator)

    answer = operator.post(url("start", operation), fields)

    (name,) = fields
    html = answer.content.decode()
    assert answer.status_code == 422
    assert f'id="{name}-error"' in html
    assert field(html, name) == fields[name]
    operation.refresh_from_db()
    assert operation.state == "planned"


def test_a_plan_is_narrowed(operator: Client) -> None:
    many(5)
    operation = plan(operator)

    operator.post(url("narrow", operation), {"messages": "2"})

    seen = said(operator, url("operation", operation))
    assert "Resubmit 2 messages" in seen
    assert "operator kept the first 2; 3 were removed" in seen

    operator.post(url("narrow", operation), {"sample": "1", "messages": "1"})
    assert operation.items.count() == 1
    answer = operator.post(url("narrow", operation), {"messages": "0"}, follow=True)
    assert "notice-error" in answer.content.decode()
    assert operation.items.count() == 1


def test_what_is_above_the_ceiling_is_named_counted_and_taken_in(
    operator: Client,
) -> None:
    die()
    for _ in range(3):
        again = plan(operator)
        operator.post(url("start", again))
        for _ in range(2):
            attempt(ERROR)
    letter = dead_letters.letters(ALL)[0]
    fresh = die("KeyError: 'name'")
    operation = plan(operator)

    seen = said(operator, url("operation", operation))
    assert "Resubmit 1 message" in seen
    assert "1 message was left out: resubmitted as often as the queue allows" in seen
    rest = said(operator, url("operation", operation), status="left_out")
    number = public_number(letter.message_id)
    assert str(number) in rest
    assert str(fresh.origin_id) not in rest.split("Left out")[-1]

    assert operator.post(url("take_in", operation)).status_code == 400
    operator.post(url("take_in", operation), {"reason": "the consumer was mended"})
    seen = said(operator, url("operation", operation))
    assert "Resubmit 2 messages" in seen
    assert "operator included 1 that were left out: the consumer was mended" in seen


def test_a_plan_says_what_came_of_resubmitting_before(operator: Client) -> None:
    for _ in range(4):
        die()
    first = plan(operator)
    operator.post(url("start", first))
    for _ in range(6):
        attempt(ERROR)
    attempt()
    operations.settle(first.pk)

    seen = said(operator, url("operation", plan(operator)))

    assert "3 of them were resubmitted before and dead-lettered again." in seen
    assert re.search(
        r"Of 4 messages dead-lettered with “ValueError: row \{n\} is bad” and"
        r" resubmitted since \S+ \S+ UTC, 1 was processed\.",
        seen,
    )


def test_a_worker_that_does_not_come_is_missed(operator: Client) -> None:
    operation = begun(operator)
    assert "No worker has handled" not in said(operator, url("operation", operation))
    long_ago = timezone.now() - timedelta(minutes=1)
    OperationSchedule.objects.update(stepped_at=long_ago)
    Operation.objects.update(started_at=long_ago)

    seen = said(operator, url("operation", operation))

    assert re.search(r"No worker has handled this operation for 1 min( \d s)?\.", seen)


def test_who_else_runs_is_said(operator: Client) -> None:
    first = begun(operator)
    second = begun(operator)
    assert first.pk != second.pk
    assert "It takes turns with another operation." in said(
        operator, url("operation", second)
    )


def test_what_became_of_more_than_can_be_looked_up_is_in_the_ledger(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.operations.follow_up.TRACED", 10)
    operation = begun(operator)
    operations.step(operation.pk)
    attempt(limit=100)
    seen = said(operator, url("operation", operation))
    assert "150 sent 150 still on their queues" in seen

    operations.settle(operation.pk)

    seen = said(operator, url("operation", operation))
    assert "150 sent 100 processed 50 still on their queues" in seen
    assert (
        operation.items.filter(outcome=OperationItem.Outcome.PROCESSED).count() == 100
    )


@pytest.mark.parametrize("change", CHANGES)
def test_a_viewer_steers_nothing(orders: Queue, sign_in: SignIn, change: str) -> None:
    die()
    planned = plan_resubmit(make_user(), "all")
    client = sign_in("viewer")
    assert client.get(url(change, planned)).status_code == 405
    assert client.post(url(change, planned)).status_code == 403


@pytest.mark.parametrize("change", ["pause_operation", "carry_on", "pace"])
def test_what_has_ended_is_steered_no_more(operator: Client, change: str) -> None:
    die()
    operation = plan(operator)
    operator.post(url("start", operation))

    answer = operator.post(url(change, operation))

    assert answer.status_code == 409
    assert f"Operation {operation.pk} is already done." in words(
        answer.content.decode()
    )
