"""Resubmitting: planned on a frozen set, started by a person, kept as a record."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from broker import operations
from broker.models import Operation, Queue
from broker.monitoring import dead_letters
from broker.queueing.put import put_many
from tests.console.conftest import SignIn
from tests.console.letters import ALL, attempt, die, make_places
from tests.console.messages.test_messages import EVIL, words
from tests.console.operations.ordering import PLAN, many, part_of, plan, said, url
from tests.make import make_messages, make_user, plan_resubmit

LIST = reverse("console:operations")


@pytest.fixture
def orders(db: None) -> Queue:
    return make_places()


def test_a_plan_says_everything_and_does_nothing(
    sign_in: SignIn, orders: Queue
) -> None:
    for number in range(3):
        die(f"ValueError: row {number} is bad")
    client = sign_in("operator")
    group = dead_letters.groups()[0]

    planned = plan(client, fingerprint=group.fingerprint, queue="orders")
    seen = said(client, url("operation", planned))

    assert "Resubmit 3 messages" in seen
    assert (
        "all dead letters of orders, with “ValueError: row {n} is bad”" in planned.scope
    )
    assert planned.scope in seen
    assert "3 DLQ orders" in seen
    assert "Nothing has been sent yet." in seen
    assert "Reason (optional)" in seen
    assert "operator planned it" in seen
    assert len(dead_letters.letters(ALL)) == 3


def test_a_plan_is_frozen(sign_in: SignIn, orders: Queue) -> None:
    die()
    client = sign_in("operator")
    planned = plan(client)
    die()

    client.post(url("start", planned), {"reason": "mended"})

    assert "1 sent" in said(client, url("operation", planned))
    assert len(dead_letters.letters(ALL)) == 1


def test_one_message_goes_the_same_way(sign_in: SignIn, orders: Queue) -> None:
    letter, other = die(), die()
    client = sign_in("operator")

    planned = plan(client, message=letter.message_id)
    client.post(url("start", planned))
    seen = said(client, url("operation", planned))

    item = planned.items.get()
    assert planned.scope == f"message {letter.origin_id}"
    assert item.copy_id is not None
    assert f"{letter.origin_id} DLQ orders sent its copy" in seen
    assert "operator started it" in seen
    assert [one.message_id for one in dead_letters.letters(ALL)] == [other.message_id]


@pytest.mark.parametrize(
    ("prepare", "warning"),
    [
        (lambda: Queue.objects.update(paused=True), "orders is paused."),
        (lambda: put_many(make_messages(1)), "1 message is ready on orders, and no"),
        (lambda: put_many(make_messages(2)), "2 messages are ready on orders, and no"),
    ],
)
def test_a_plan_warns_of_what_waits_for_the_messages(
    sign_in: SignIn, orders: Queue, prepare: object, warning: str
) -> None:
    die()
    assert callable(prepare)
    prepare()
    client = sign_in("operator")

    assert warning in said(client, url("operation", plan(client)))


def test_a_plan_warns_of_what_died_before(sign_in: SignIn, orders: Queue) -> None:
    die()
    client = sign_in("operator")
    first = plan(client)
    assert "dead-lettered again" not in said(client, url("operation", first))
    client.post(url("start", first))
    for _ in range(2):
        attempt("ValueError: row 7 is bad")

    seen = said(client, url("operation", plan(client)))

    assert "1 of them was resubmitted before and dead-lettered again." in seen
    assert "1 dead-lettered again (1 known cause)" in said(
        client, url("operation", first)
    )


def test_the_result_says_what_became_of_the_messages(
    sign_in: SignIn, orders: Queue
) -> None:
    for _ in range(4):
        die()
    client = sign_in("operator")
    done = plan(client)
    client.post(url("start", done))
    attempt()
    attempt("ValueError: no")
    attempt("ValueError: no")

    seen = said(client, url("operation", done))

    assert (
        "4 sent 1 processed 1 dead-lettered again (1 new cause)"
        " 2 still on their queues Undo" in seen
    )


def test_what_is_gone_is_skipped_and_noted(sign_in: SignIn, orders: Queue) -> None:
    die()
    letter = die()
    client = sign_in("operator")
    both, one = plan(client), plan(client, message=letter.message_id)
    client.post(url("start", one))
    client.post(url("start", both))

    seen = said(client, url("operation", both), status="skipped")

    assert "1 sent 1 skipped" in seen
    assert f"{letter.origin_id} DLQ orders skipped It was no longer on its" in seen


def test_above_a_hundred_a_reason_is_asked_for(sign_in: SignIn, orders: Queue) -> None:
    many(101)
    client = sign_in("operator")
    planned = plan(client)

    answer = client.post(url("start", planned), {"reason": " "})
    planned.refresh_from_db()

    assert answer.status_code == 422
    assert "Say why." in words(answer.content.decode())
    assert f'href="{url("operation", planned)}?after=' in answer.content.decode()
    assert planned.state == "planned"

    client.post(url("start", planned), {"reason": "Upstream is back."})
    planned.refresh_from_db()
    assert (planned.state, planned.reason) == ("running", "Upstream is back.")


def test_progress_is_a_part_whose_numbers_are_pushed_until_the_end(
    sign_in: SignIn, orders: Queue
) -> None:
    many(150)
    client = sign_in("operator")
    order = plan(client)
    client.post(url("start", order), {"reason": "mended"})

    html = part_of(client, order)
    assert "<main" not in html
    assert f'hx-get="{url("operation", order)}" hx-trigger="turned"' in html
    assert 'data-slot="operation-handled" max="150" value="100">' in html
    assert "100 sent 50 to go" in said(client, url("operation", order))
    assert f'<noscript><a class="button" href="{url("operation", order)}">' in html

    operations.step(order.pk)
    html = part_of(client, order)
    assert "150 sent" in html
    assert 'hx-trigger="turned"' in html  # all are on their queue

    assert len(attempt(limit=150)) == 150
    html = part_of(client, order)
    assert "150 processed" in html
    assert "hx-get" not in html


def test_stopping_leaves_what_is_sent_and_what_is_not(
    sign_in: SignIn, orders: Queue
) -> None:
    many(150)
    client = sign_in("operator")
    order = plan(client)
    client.post(url("start", order), {"reason": "mended"})
    running = said(client, url("operation", order))
    assert "Messages that were already sent are not taken back; you can" in running

    answer = client.post(url("cancel", order))

    seen = said(client, answer["Location"])
    assert "100 sent 50 not touched" in seen
    assert "operator cancelled it" in seen
    assert len(dead_letters.letters(ALL, limit=200)) == 50
    assert operations.step(order.pk) == 0


def test_doing_nothing_does_nothing(sign_in: SignIn, orders: Queue) -> None:
    die()
    client = sign_in("operator")
    planned = plan(client)

    answer = client.post(url("cancel", planned), follow=True)

    assert answer.redirect_chain == [(reverse("console:dead_letters"), 302)]
    assert "Nothing was done." in words(answer.content.decode())
    assert "Cancelled" in said(client, url("operation", planned))
    assert len(dead_letters.letters(ALL)) == 1


def test_an_operation_starts_once(sign_in: SignIn, orders: Queue) -> None:
    die()
    client = sign_in("operator")
    planned = plan(client)
    client.post(url("start", planned), {"reason": "first"})

    for name in ("start", "cancel"):
        answer = client.post(url(name, planned), {"reason": "second"})
        assert answer.status_code == 409
        assert f"Operation {planned.pk} is already done." in words(
            answer.content.decode()
        )
    planned.refresh_from_db()
    assert planned.reason == "first"
    assert said(client, url("operation", planned)).count("operator started it") == 1


def test_what_cannot_be_resubmitted_is_refused(sign_in: SignIn, orders: Queue) -> None:
    client = sign_in("operator")
    client.raise_request_exception = False

    assert client.post(PLAN, {"message": 7}).status_code == 409
    for field, value in (("message", 2**70), ("on", "x"), ("fingerprint", "'--")):
        assert client.post(PLAN, {field: value}).status_code == 400
    assert not Operation.objects.exists()


def test_the_list_has_the_newest_first_in_pages(sign_in: SignIn, orders: Queue) -> None:
    die(EVIL)
    user = make_user()
    made = [plan_resubmit(user, f"all, {EVIL}").pk for _ in range(25)]
    operations.start(made[-1])
    client = sign_in("viewer")

    html = client.get(LIST).content.decode()
    link = re.search(r'href="([^"]*)" rel="next"', html)
    assert link
    rest = client.get(LIST + link[1]).content.decode()

    def numbers(html: str) -> list[int]:
        return [int(one) for one in re.findall(r">Resubmit (\d+)<", html)]

    assert numbers(html) + numbers(rest) == made[::-1]
    assert "<script>alert" not in html
    assert "omar 1 1 0" in words(html)
    assert client.get(LIST, {"after": "x"})["Location"] == LIST


def test_no_operations_is_said(sign_in: SignIn, db: None) -> None:
    assert "No operations yet." in said(sign_in("viewer"), LIST)


@pytest.mark.parametrize("number", [0, 999, 2**63, 10**40])
def test_an_operation_that_is_none_is_not_found(sign_in: SignIn, number: int) -> None:
    client = sign_in("operator")

    address = reverse("console:operation", args=[number])
    assert client.get(address).status_code == 404
    for name in ("start", "cancel"):
        address = reverse(f"console:{name}", args=[number])
        assert client.post(address, {"reason": "x"}).status_code == 404


def test_a_viewer_reads_and_changes_nothing(sign_in: SignIn, orders: Queue) -> None:
    die()
    planned = plan_resubmit(make_user(), "all")
    client = sign_in("viewer")

    seen = said(client, url("operation", planned))

    assert "Users with the role operator may start it." in seen
    for name in ("start", "cancel"):
        assert client.get(url(name, planned)).status_code == 405
        assert client.post(url(name, planned)).status_code == 403
    assert client.get(PLAN).status_code == 405


def test_forms_are_sent_from_here_only(orders: Queue) -> None:
    die()
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user(permissions=("broker.resubmit_message",)))

    assert client.post(PLAN, {}).status_code == 403
    assert not Operation.objects.exists()


def test_the_pages_ask_a_fixed_number_of_questions(
    sign_in: SignIn,
    orders: Queue,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    many(60)
    client = sign_in("operator")
    first, second = plan(client), plan(client)
    client.post(url("start", first))
    client.get(LIST)  # the badges are kept for seconds

    for address, most in (
        (url("operation", second), 30),
        (url("operation", first), 26),
        (LIST, 13),
    ):
        with django_assert_max_num_queries(most):
            client.get(address)
