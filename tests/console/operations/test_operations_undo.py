"""Undo: what an operation did is taken back, as far as nobody has had it since."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from broker import operations
from broker.models import Authority, Operation, Place, Queue, Ready
from broker.monitoring import dead_letters
from broker.queueing.browse import browse
from broker.queueing.put import put
from console.accounts import roles
from tests.console.conftest import SignIn
from tests.console.letters import ALL, attempt, die, make_places
from tests.console.messages.test_messages import words
from tests.console.operations.ordering import order, plan, said, started, url
from tests.make import make_authority, make_queue, make_user

Kind = Operation.Kind
LIST = reverse("console:operations")
BANNER = "This can be undone for another"


@pytest.fixture
def orders(db: None) -> Queue:
    make_queue("billing")
    return make_places()


def here(queue: str, place: Place = Place.READY) -> list[int]:
    found = Queue.objects.get(name=queue)
    return [entry.message_id for entry in browse(found.pk, place)]


def undo(client: Client, operation: Operation) -> Operation:
    """Get the plan of an undo."""
    answer = client.post(url("undo", operation))
    planned = Operation.objects.get(undoes=operation)
    assert answer["Location"] == url("operation", planned)
    return planned


def test_a_resubmit_is_taken_back_as_far_as_nobody_had_it(
    sign_in: SignIn, orders: Queue
) -> None:
    letters = [die() for _ in range(3)]
    client = sign_in("operator")
    done = plan(client)
    assert BANNER in started(client, done)
    attempt()
    assert len(here("orders")) == 2

    planned = undo(client, done)
    seen = said(client, url("operation", planned))

    assert "Undo: put 3 messages back" in seen
    assert f"undoes operation {done.pk}" in seen
    assert "2 can be put back 1 already processed 0 unknown" in seen
    assert "Nothing has been put back yet." in seen
    assert len(here("orders")) == 2
    result = started(client, planned)
    assert "2 put back 1 skipped" in result
    assert "Skipped: 1. It was already processed." in result
    assert BANNER not in result
    back = {one.message_id for one in dead_letters.letters(ALL)}
    assert back < {one.message_id for one in letters}
    assert len(back) == 2
    assert here("orders") == []


def test_what_died_again_can_be_put_back(sign_in: SignIn, orders: Queue) -> None:
    letter = die()
    client = sign_in("operator")
    done = plan(client)
    started(client, done)
    for _ in range(2):
        attempt("ValueError: row 7 is bad")
    assert BANNER in said(client, url("operation", done))

    planned = undo(client, done)

    seen = said(client, url("operation", planned))
    assert "1 can be put back" in seen
    assert "Put 1 message back" in seen
    assert "1 put back" in started(client, planned)
    assert [one.message_id for one in dead_letters.letters(ALL)] == [letter.message_id]


def test_where_nothing_can_be_put_back_the_pages_say_so_without_a_button(
    sign_in: SignIn, orders: Queue
) -> None:
    die()
    client = sign_in("operator")
    done = plan(client)
    started(client, done)
    planned = undo(client, done)
    attempt()

    page = client.get(url("operation", planned)).content.decode()
    assert "The message cannot be put back now." in words(page)
    assert f'action="{url("start", planned)}"' not in page
    client.post(url("cancel", planned))
    page = client.get(url("operation", done)).content.decode()
    assert "This can no longer be undone:" in words(page)
    assert BANNER not in words(page)
    assert "Undo until" not in words(page)
    assert f'action="{url("undo", done)}"' not in page
    assert " s left" in said(client, LIST), "the outcome was not looked up yet"
    operations.settle(done.pk)
    assert " s left" not in said(client, LIST)


def test_the_button_has_the_number_of_its_plan(sign_in: SignIn, orders: Queue) -> None:
    letters = [die() for _ in range(3)]
    client = sign_in("operator")
    planned = plan(client)
    queue = Queue.objects.get(name="DLQ")
    Ready.objects.filter(queue_id=queue.pk, id=letters[0].message_id).delete()

    seen = said(client, url("operation", planned))

    assert "2 messages will go from DLQ" in seen
    assert "2 can be sent 1 gone" in seen
    assert "Resubmit 2 messages" in seen


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "fields", "heading", "result"),
    [
        (Kind.MOVE, {"to": "billing"}, "Undo: put 2 messages back", "2 put back"),
        (
            Kind.COPY,
            {"to": "billing"},
            "Undo: remove the copies of 2 messages",
            "2 removed again",
        ),
        (Kind.REMOVE, {}, "Undo: put 2 messages back", "2 put back"),
        (Kind.EXPIRE, {}, "Undo: put 2 messages back", "2 put back"),
        (Kind.DEAD_LETTER, {}, "Undo: put 2 messages back", "2 put back"),
        (
            Kind.PRIORITY,
            {"priority": 9},
            "Undo: give 2 messages the old priority",
            "2 given the old priority",
        ),
    ],
)
def test_every_kind_has_words_for_its_undo(
    sign_in: SignIn,
    orders: Queue,
    kind: str,
    fields: dict[str, object],
    heading: str,
    result: str,
) -> None:
    both = [put("orders").message_id for _ in range(2)]
    client = sign_in("operator")
    done = order(client, kind, *both, **fields)
    started(client, done)

    planned = undo(client, done)

    seen = said(client, url("operation", planned))
    assert heading in seen
    assert "on orders" in seen or "to orders" in seen or "from billing" in seen
    assert result in started(client, planned)
    assert here("orders") == both
    assert here("billing") == here("DLQ") == []


def test_what_was_delivered_early_waits_again(sign_in: SignIn, orders: Queue) -> None:
    due = timezone.now() + timedelta(hours=1)
    one = put("orders", deliver_at=due).message_id
    client = sign_in("operator")
    done = order(client, Kind.DELIVER, one)
    started(client, done)

    planned = undo(client, done)

    assert "Undo: let 1 message wait again" in said(client, url("operation", planned))
    assert "1 delayed again" in started(client, planned)
    assert here("orders", Place.DELAYED) == [one]


def test_an_operation_and_its_undo_lead_to_each_other(
    sign_in: SignIn, orders: Queue
) -> None:
    put("orders")
    client = sign_in("operator")
    done = order(client, Kind.MOVE, to="billing")
    started(client, done)
    planned = undo(client, done)
    seen = said(client, url("operation", done))
    assert f"Undo planned, operation {planned.pk}" in seen
    assert "It is not started: nothing is undone yet." in seen
    started(client, planned)

    page = client.get(url("operation", done)).content.decode()

    assert f"Undone by operation {planned.pk}" in words(page)
    assert f'href="{url("operation", planned)}"' in page
    assert BANNER not in words(page)
    assert "processed" not in words(page)
    listed = words(client.get(LIST).content.decode())
    assert f"undone by {planned.pk}" in listed
    assert f"undoes {done.pk}" in listed
    assert f"operator undid it, by operation {planned.pk}" in words(page)
    assert client.post(url("undo", done)).status_code == 409


def test_an_undo_that_came_too_late_for_all_does_not_pass_for_one(
    sign_in: SignIn, orders: Queue
) -> None:
    put("orders")
    client = sign_in("operator")
    done = order(client, Kind.MOVE, to="billing")
    started(client, done)
    attempt(queue="billing")

    started(client, undo(client, done))

    assert "0 of 1 undone by" in said(client, url("operation", done))
    assert "0 of 1 undone by" in said(client, LIST)


def test_a_discarded_undo_can_be_planned_again(sign_in: SignIn, orders: Queue) -> None:
    put("orders")
    client = sign_in("operator")
    done = order(client, Kind.MOVE, to="billing")
    started(client, done)

    answer = client.post(url("cancel", undo(client, done)))

    assert answer["Location"] == url("operation", done)
    assert BANNER in said(client, url("operation", done))
    assert "1 put back" in started(client, undo(client, done))


def test_the_time_to_undo_is_counted_down_and_ends(
    sign_in: SignIn, orders: Queue
) -> None:
    put("orders")
    client = sign_in("operator")
    done = order(client, Kind.MOVE, to="billing")
    assert "it can be undone for 30 min." in said(client, url("operation", done))
    started(client, done)
    html = client.get(url("operation", done)).content.decode()
    assert "<time data-countdown datetime=" in html
    assert 'title="until ' in html
    assert " s left" in said(client, LIST)

    Operation.objects.update(ended_at=F("ended_at") - timedelta(hours=1))

    assert BANNER not in said(client, url("operation", done))
    assert " s left" not in said(client, LIST)
    assert client.post(url("undo", done)).status_code == 409


def test_who_undoes_needs_what_it_takes(orders: Queue, client: Client) -> None:
    put("orders")
    omar = make_user(permissions=tuple(roles.ROLES["operator"]))
    client.force_login(omar)
    done = order(client, Kind.MOVE, to="billing")
    started(client, done)

    may_all_but(omar, "billing", "get")
    assert client.post(url("undo", done)).status_code == 403
    may_all_but(omar, "orders", "put")
    assert client.post(url("undo", done)).status_code == 403
    assert not Operation.objects.filter(undoes=done).exists()
    may_all_but(omar, "billing", "put")

    assert "1 put back" in started(client, undo(client, done))


def may_all_but(user: User, queue: str, authority: str) -> None:
    Authority.objects.filter(user=user).delete()
    for name in ("orders", "billing"):
        granted = {"inquire", "browse", "get", "put"}
        if name == queue:
            granted.discard(authority)
        make_authority(user, *granted, pattern=name)  # type: ignore[arg-type]


def test_viewers_read_how_it_could_be_undone(sign_in: SignIn, orders: Queue) -> None:
    put("orders")
    client = sign_in("operator")
    done = order(client, Kind.MOVE, to="billing")
    started(client, done)
    client = sign_in("viewer")

    assert "Users with the role operator may undo it." in said(
        client, url("operation", done)
    )
    assert client.post(url("undo", done)).status_code == 403
    assert client.get(url("undo", done)).status_code == 405
