"""Orders: messages are chosen, what is to be done is said, and a plan comes of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from broker.models import Delayed, Operation, Place, Queue
from broker.monitoring import dead_letters
from broker.queueing.browse import browse
from broker.queueing.put import put
from console.audit import history
from console.operations.words import WORDS
from tests.console.conftest import SignIn
from tests.console.letters import ALL, attempt, die, make_places
from tests.console.messages.test_messages import words
from tests.console.operations.ordering import order, said, started, url
from tests.make import make_queue

Kind = Operation.Kind
FORM = reverse("console:order", args=["orders"])


@pytest.fixture
def orders(db: None) -> Queue:
    make_queue("billing")
    return make_places()


def here(queue: str, place: Place = Place.READY) -> list[int]:
    """The messages in one place on a queue, as consumers get them."""
    found = Queue.objects.get(name=queue)
    return [entry.message_id for entry in browse(found.pk, place)]


def later() -> int:
    return put("orders", deliver_at=timezone.now() + timedelta(hours=1)).message_id


@pytest.mark.spec("ADMIN-2", "ADMIN-3")
@pytest.mark.parametrize(
    ("kind", "fields", "heading", "outlook", "result"),
    [
        (
            Kind.MOVE,
            {"to": "billing"},
            "Move 2 messages to billing",
            "2 can be moved",
            "2 moved to billing",
        ),
        (
            Kind.COPY,
            {"to": "billing"},
            "Copy 2 messages to billing",
            "2 can be copied",
            "2 copied to billing",
        ),
        (
            Kind.REMOVE,
            {},
            "Remove 2 messages",
            "2 can be removed",
            "2 removed",
        ),
        (
            Kind.EXPIRE,
            {},
            "Expire 2 messages",
            "2 can be expired",
            "2 expired",
        ),
        (
            Kind.DEAD_LETTER,
            {},
            "Send 2 messages to dead letters",
            "2 can be sent",
            "2 sent to dead letters",
        ),
        (
            Kind.PRIORITY,
            {"priority": 9},
            "Give 2 messages priority 9",
            "2 can be changed",
            "2 given priority 9",
        ),
    ],
)
def test_what_is_ticked_is_planned_and_done(
    sign_in: SignIn,
    orders: Queue,
    kind: str,
    fields: dict[str, object],
    heading: str,
    outlook: str,
    result: str,
) -> None:
    ticked = [put("orders").message_id for _ in range(2)]
    other = put("orders").message_id
    client = sign_in("operator")

    planned = order(client, kind, *ticked, **fields)
    seen = said(client, url("operation", planned))

    assert heading in seen
    assert outlook in seen
    assert f"Nothing has been {WORDS[kind].nothing} yet." in seen
    assert here("orders") == [*ticked, other]
    assert result in started(client, planned)
    assert other in here("orders")
    left = {Kind.COPY: ticked, Kind.PRIORITY: ticked}.get(Kind(kind), [])
    assert [one for one in here("orders") if one != other] == left
    sent = {"billing": 2, "DLQ": 0}
    if kind in (Kind.REMOVE, Kind.EXPIRE, Kind.PRIORITY):
        sent = {"billing": 0, "DLQ": 0}
    if kind == Kind.DEAD_LETTER:
        sent = {"billing": 0, "DLQ": 2}
    assert {name: len(here(name)) for name in sent} == sent


@pytest.mark.spec("ADMIN-1")
def test_dead_letters_go_back_from_the_page_of_their_queue(
    sign_in: SignIn, orders: Queue
) -> None:
    letter, other = die(), die()
    client = sign_in("operator")

    planned = order(client, Kind.RESUBMIT, letter.message_id, queue="DLQ")

    assert "1 sent" in started(client, planned)
    assert [one.message_id for one in dead_letters.letters(ALL)] == [other.message_id]
    assert len(here("orders")) == 1


@pytest.mark.spec("ADMIN-4")
def test_what_waits_is_listed_with_its_time_and_delivered_now(
    sign_in: SignIn, orders: Queue
) -> None:
    waiting, other = later(), later()
    client = sign_in("operator")
    listed = said(client, reverse("console:queue", args=["orders"]), place="delayed")
    assert "Due at" in listed
    assert "in 59 min" in listed

    planned = order(client, Kind.DELIVER, waiting, place="delayed")

    assert "Deliver 1 message now" in said(client, url("operation", planned))
    assert here("orders") == []
    assert "1 made ready" in started(client, planned)
    assert here("orders") == [waiting]
    assert here("orders", Place.DELAYED) == [other]


@pytest.mark.spec("ADMIN-4")
def test_what_waits_is_given_another_time(sign_in: SignIn, orders: Queue) -> None:
    waiting, other = later(), later()
    before = Delayed.objects.get(id=other).due_at
    client = sign_in("operator")
    sent = {"which": "ticked", "message": waiting, "place": "delayed"}
    asked = reverse("console:order", args=["orders"])
    for text, why in (("", "Enter the time"), ("soon", "is no time")):
        fields = sent | {"kind": "reschedule", "due_at": text}
        answer = client.post(asked, fields)
        assert (answer.status_code, why in answer.content.decode()) == (422, True)
    at = f"{timezone.localtime() + timedelta(days=2):%Y-%m-%d} 06:00"

    planned = order(client, Kind.RESCHEDULE, waiting, place="delayed", due_at=at)

    assert f"Make 1 message due at {at}" in said(client, url("operation", planned))
    assert f"1 due at {at}" in started(client, planned)
    found = timezone.localtime(Delayed.objects.get(id=waiting).due_at)
    assert f"{found:%Y-%m-%d %H:%M}" == at
    assert Delayed.objects.get(id=other).due_at == before
    story = said(client, reverse("console:message", args=[waiting]))
    assert "Given another time at which it is due" in story
    assert "Change the time…" in story
    assert at in said(client, reverse("console:operations"))


@pytest.mark.spec("ADMIN-3")
def test_a_selector_narrows_all_that_is_in_one_place(
    sign_in: SignIn, orders: Queue
) -> None:
    red = put("orders", properties={"colour": "red"}).message_id
    put("orders", properties={"colour": "blue"})
    later()
    client = sign_in("operator")

    planned = order(
        client, Kind.REMOVE, place="ready", selector="colour = 'red' OR colour = '<i>'"
    )

    assert [item.message_id for item in planned.items.all()] == [red]
    assert planned.scope.startswith("all ready messages on orders, with “colour = 're")
    answer = client.get(url("operation", planned))
    assert "colour = &#x27;&lt;i&gt;&#x27;" in answer.content.decode()
    everything = order(client, Kind.REMOVE)
    assert everything.items.count() == 3


@pytest.mark.spec("ADMIN-3")
def test_a_group_of_dead_letters_is_moved_and_no_other(
    sign_in: SignIn, orders: Queue
) -> None:
    letter, other = die("ValueError: row 7 is bad"), die("KeyError: 'name'")
    client = sign_in("operator")
    form = reverse("console:order_letters")
    fields = {"fingerprint": letter.fingerprint}
    assert "ValueError: row {n} is bad" in said(client, form, **fields)

    client.post(form, {**fields, "kind": Kind.MOVE, "to": "billing"})
    planned = Operation.objects.get()

    assert "1 moved to billing" in started(client, planned)
    assert here("DLQ") == [other.message_id]
    assert len(here("billing")) == 1


@pytest.mark.parametrize("kind", [Kind.REMOVE, Kind.EXPIRE, Kind.DEAD_LETTER])
def test_what_takes_messages_off_their_way_asks_why(
    sign_in: SignIn, orders: Queue, kind: str
) -> None:
    one = put("orders").message_id
    client = sign_in("operator")
    planned = order(client, kind, one)

    answer = client.post(url("start", planned), {"reason": " "})

    assert answer.status_code == 422
    assert "Say why." in words(answer.content.decode())
    assert here("orders") == [one]


@pytest.mark.spec("ADMIN-2", "ADMIN-3")
@pytest.mark.parametrize(
    ("kind", "address"),
    [(Kind.EXPIRE, "expiry address"), (Kind.DEAD_LETTER, "dead letter address")],
)
def test_a_plan_warns_where_messages_would_be_on_no_queue(
    sign_in: SignIn, orders: Queue, kind: str, address: str
) -> None:
    put("billing")

    planned = order(sign_in("operator"), kind, queue="billing")

    seen = said(sign_in("viewer"), url("operation", planned))
    assert f"billing has no {address}: 1 message would be on no queue" in seen


def test_a_plan_of_what_is_gone_says_that_it_does_nothing(
    sign_in: SignIn, orders: Queue
) -> None:
    put("orders")
    client = sign_in("operator")
    planned = order(client, Kind.MOVE, to="billing")
    attempt()

    seen = said(client, url("operation", planned))
    assert "0 can be moved" in seen
    assert "None of them can be moved now." in seen
    done = started(client, planned)

    assert "0 moved to billing 1 skipped" in done
    assert "Skipped: 1." in done
    assert "can be undone for another" not in done


@pytest.mark.spec("ADMIN-7")
def test_plans_starts_and_stops_are_written_down(
    sign_in: SignIn, orders: Queue
) -> None:
    put("orders")
    client = sign_in("operator")
    first = order(client, Kind.MOVE, to="billing")
    client.post(url("cancel", first))
    second = order(client, Kind.MOVE, to="billing")
    started(client, second)

    def written(operation: Operation) -> list[tuple[str, str]]:
        return [(one.actor, one.words) for one in history.of_operation(operation)]

    assert written(first) == [("operator", "planned it"), ("operator", "cancelled it")]
    assert written(second) == [("operator", "planned it"), ("operator", "started it")]
    seen = said(client, url("operation", second))
    assert "The cause is mended." in seen
    assert seen.count("operator planned it") == 1


def test_a_large_plan_is_looked_at_when_that_is_asked_for(
    sign_in: SignIn, orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.operations.pages.operations.LOOKED_AT", 1)
    for _ in range(2):
        put("orders")
    client = sign_in("operator")
    planned = order(client, Kind.MOVE, to="billing")

    assert "Check now how many of them could be moved" in said(
        client, url("operation", planned)
    )
    assert "2 can be moved" in said(client, url("operation", planned), look="now")
