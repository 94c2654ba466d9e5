"""The form of an order: what it offers, what it refuses, and that it does nothing."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from broker.models import Message, Operation, Queue
from broker.queueing.browse import where_is
from broker.queueing.put import put
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.console.messages.test_messages import EVIL, words
from tests.console.operations.ordering import said
from tests.make import make_authority, make_queue, make_user

Kind = Operation.Kind
FORM = reverse("console:order", args=["orders"])


@pytest.fixture
def orders(db: None) -> Queue:
    make_queue("billing")
    return make_places()


def refused(client: Client, **fields: object) -> str:
    """What the form says that makes no plan."""
    answer = client.post(FORM, {"which": "all", **fields})
    assert answer.status_code == 422
    assert not Operation.objects.exists()
    return words(answer.content.decode())


@pytest.mark.spec("ADMIN-3")
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "Choose an action."),
        ({"kind": "explode"}, "Select a valid choice."),
        ({"kind": "deliver", "place": "ready"}, "Select a valid choice."),
        ({"kind": "move"}, "Choose a queue."),
        ({"kind": "move", "to": "nowhere"}, "There is no queue 'nowhere'."),
        ({"kind": "priority"}, "Choose a priority, from 0 to 9."),
        ({"kind": "priority", "priority": "10"}, "less than or equal to 9"),
        ({"kind": "remove", "selector": "colour ="}, "The selector is wrong at"),
        ({"kind": "remove", "selector": "colour = 'grey'"}, "There is nothing to do"),
        ({"kind": "remove", "selector": EVIL}, "The selector is wrong at"),
    ],
)
def test_an_order_that_makes_no_sense_is_said_where_it_is_wrong(
    sign_in: SignIn, orders: Queue, fields: dict[str, object], sentence: str
) -> None:
    one = put("orders").message_id

    assert sentence in refused(sign_in("operator"), **fields)
    assert where_is(one)


@pytest.mark.parametrize(
    ("ticked", "sentence"),
    [
        ([], "Select at least one message first."),
        (["x"], "This is no message."),
        ([2**70], "There are no such numbers."),
        (range(1, 600), "Select at most 500 messages."),
    ],
)
def test_a_choice_of_nothing_leads_back_to_the_list(
    sign_in: SignIn, orders: Queue, ticked: list[str | int], sentence: str
) -> None:
    client = sign_in("operator")

    answer = client.get(
        FORM,
        {"which": "ticked", "message": ticked, "place": "delayed"},
        follow=True,
    )

    assert answer.redirect_chain == [("/queues/orders/?place=delayed", 302)]
    assert sentence in words(answer.content.decode())


def test_looking_at_the_form_plans_nothing(sign_in: SignIn, orders: Queue) -> None:
    one = put("orders").message_id
    client = sign_in("operator")

    seen = said(client, FORM, which="ticked", message=str(one), kind="remove")

    assert f"Act on message {one} on orders" in seen
    assert "Nothing is done on this page." in seen
    assert not Operation.objects.exists()


def test_every_list_leads_to_what_can_be_done(sign_in: SignIn, orders: Queue) -> None:
    letter = die()
    one = put("orders").message_id
    client = sign_in("operator")

    page = client.get(reverse("console:queue", args=["orders"])).content.decode()
    assert f'<form id="order" class="toolbar" action="{FORM}">' in page
    assert f'form="order" name="message" value="{one}"' in page
    message = client.get(
        reverse("console:message", args=[one]), follow=True
    ).content.decode()
    assert f'href="{FORM}?which=ticked&amp;message={one}"' in message
    group = reverse("console:dead_letter_group", args=[letter.fingerprint])
    letters = reverse("console:order_letters")
    assert (
        f'href="{letters}?fingerprint={letter.fingerprint}"'
        in client.get(group).content.decode()
    )
    assert f'href="{letters}?"' in client.get("/dead/").content.decode()


def test_orders_come_from_here_only(orders: Queue) -> None:
    put("orders")
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_user(permissions=("broker.resubmit_message",)))

    answer = client.post(FORM, {"which": "all", "kind": Kind.REMOVE})

    assert answer.status_code == 403
    assert not Operation.objects.exists()
    assert where_is(Message.objects.get().pk)


def test_what_a_person_may_not_is_said_beside_it(client: Client, orders: Queue) -> None:
    put("orders")
    permissions = ("broker.view_queue", "broker.resubmit_message")
    user = make_user(permissions=permissions, granted=("inquire",))
    make_authority(user, "browse", pattern="orders")
    client.force_login(user)

    html = client.get(FORM, {"which": "all"}).content.decode()

    seen = words(html)
    assert "Copy to another queue; the original stays here" in seen
    assert "Move You lack the authority “get” on orders." in seen
    assert html.count("disabled>") == 7


def test_viewers_are_told_who_may_act(sign_in: SignIn, orders: Queue) -> None:
    put("orders")
    client = sign_in("viewer")

    html = client.get(reverse("console:queue", args=["orders"])).content.decode()

    assert "Users with the role operator may move, copy, remove and resubmit" in words(
        html
    )
    assert 'type="checkbox" form="order"' not in html
    for answer in (client.get(FORM, {"which": "all"}), client.post(FORM)):
        assert answer.status_code == 403


@pytest.mark.parametrize("name", ["order", "order_letters"])
def test_there_is_no_form_for_what_is_not(sign_in: SignIn, db: None, name: str) -> None:
    client = sign_in("operator")
    client.raise_request_exception = False

    if name == "order":
        assert client.get(reverse("console:order", args=["none"])).status_code == 404
    else:
        form = reverse("console:order_letters")
        assert client.get(form, {"fingerprint": "'--"}).status_code == 400
