"""A plan whose messages are repaired on their way, as its page has it."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.html import escape

from broker import operations
from broker.models import Message, Operation, OperationPatch
from console.accounts import roles
from tests.console.letters import attempt, die, make_places
from tests.console.messages.test_messages import words
from tests.console.operations.ordering import (
    many,
    order,
    part_of,
    plan,
    said,
    started,
    url,
)
from tests.make import make_authority, make_queue, make_user

pytestmark = pytest.mark.django_db

BANNER = "This can be undone for another"
EUR = {"how": "merge", "body": '{"currency": "EUR"}'}


@pytest.fixture
def omar(client: Client) -> User:
    user = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    client.force_login(user)
    return user


@pytest.fixture
def planned(client: Client, omar: User) -> Operation:
    """Three letters, of which one is no JSON."""
    make_places()
    for body in (b'{"currency": "XBT", "n": 1.10}', b'{"currency": "BTC"}', b"no"):
        die(body=body, content_type="application/json")
    return plan(client)


def give(client: Client, operation: Operation, **fields: str) -> str:
    """Give it a patch; what its page says then."""
    answer = client.post(url("repair", operation), fields)
    assert answer.status_code == 302, words(answer.content.decode())
    assert answer["Location"] == url("operation", operation) + "#repair"
    return said(client, url("operation", operation))


def test_a_patch_is_looked_at_before_anything_is_sent(
    client: Client, planned: Operation
) -> None:
    page = give(client, planned, **EUR)

    assert "The patch fits 2 of 3." in page
    assert "1 stays where it is, and is not sent: 1. Its body is not JSON" in page
    assert "2 like message" in page
    assert 'taken out: /currency: "XBT"' in page
    assert 'put in: /currency: "EUR"' in page
    assert "Resubmit 2 messages" in page
    assert "2 DLQ orders" in page, "the way of those that go"
    assert "skipped Its body is not JSON" in page
    assert "2 can be sent" in page
    assert not planned.items.exclude(copy_id=None).exists()


def test_it_is_sent_as_it_was_shown(client: Client, planned: Operation) -> None:
    give(client, planned, **EUR)

    page = started(client, planned)

    assert "2 sent 1 skipped" in page
    assert "Each message that was sent was changed." in page
    copies = planned.items.exclude(copy_id=None).values_list("copy_id", flat=True)
    bodies = [bytes(one.body) for one in Message.objects.filter(pk__in=copies)]
    assert sorted(bodies) == [b'{"currency": "EUR", "n": 1.10}', b'{"currency": "EUR"}']


def test_the_rest_gets_another_patch_in_one_step(client: Client, omar: User) -> None:
    make_places(attempts=1)
    for _ in range(4):
        die(body=b'{"currency": "XBT"}', attempts=1)
    operation = plan(client)
    give(client, operation, **EUR)
    client.post(url("start", operation), {"canary": 1})
    attempt("ValueError: row 7 is bad")
    operations.step(operation.pk)
    page = said(client, url("operation", operation))
    assert "It stopped itself." in page
    assert "The other 3 with another patch…" in page

    answer = client.post(url("rest", operation))

    again = Operation.objects.latest("pk")
    assert answer["Location"].startswith(url("operation", again) + "?")
    assert again.items.count() == 3
    html = client.get(answer["Location"]).content.decode()
    assert escape('{"currency": "EUR"}').replace(" ", "") in "".join(html.split())
    assert "The patch in the form is not part of this plan yet" in words(html)
    old = said(client, url("operation", operation))
    assert "1 sent 3 not touched" in old
    assert BANNER in old
    give(client, again, how="merge", body='{"currency": "USD"}')
    assert "3 sent" in started(client, again)


def test_headers_are_given_in_rows(client: Client, planned: Operation) -> None:
    fields = {
        "op_0": "set",
        "name_0": "h.tenant",
        "value_0": "t7",
        "op_2": "set",
        "name_2": "h.n",
        "value_2": "1.10",
        "op_3": "set",
        "name_3": "h.text",
        "value_3": '"17"',
        "op_4": "set",
        "name_4": "subject",
        "value_4": "17",
    }

    give(client, planned, **fields)

    said = json.loads(OperationPatch.objects.get().document)
    assert said == {
        "headers": [
            {"op": "set", "name": "h.tenant", "value": "t7"},
            {"op": "set", "name": "h.n", "value": 1.1},
            {"op": "set", "name": "h.text", "value": "17"},
            {"op": "set", "name": "subject", "value": "17"},
        ]
    }
    form = client.get(url("operation", planned)).content.decode()
    assert f'value="{escape(chr(34) + "17" + chr(34))}"' in form
    assert 'name="value_1" class="mono"' in form


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "It would change nothing"),
        ({"how": "merge", "body": "{"}, "This is not JSON"),
        ({"how": "patch", "body": "{}"}, "Body: it is a list"),
        (
            {"how": "patch", "body": '[{"op": "add", "path": "/a"}]'},
            "Body, operation 1: “value” is missing",
        ),
        (
            {"op_3": "set", "name_3": "tenant", "value_3": "t7"},
            "Headers, operation 1: 'tenant' is none of",
        ),
        ({"op_0": "set", "name_0": "h._AMQ_X", "value_0": "1"}, "by the broker only"),
    ],
)
def test_what_is_no_patch_is_said_where_it_stands(
    client: Client, planned: Operation, fields: dict[str, str], why: str
) -> None:
    answer = client.post(url("repair", planned), fields)

    assert answer.status_code == 422
    assert why in words(answer.content.decode())
    assert not OperationPatch.objects.exists()


def test_a_patch_is_taken_away(client: Client, planned: Operation) -> None:
    give(client, planned, **EUR)

    client.post(url("repair", planned), {"drop": "1"})

    page = said(client, url("operation", planned))
    assert "Resubmit 3 messages" in page
    assert "The patch fits" not in page


def test_a_patch_that_fits_nothing_cannot_be_started(
    client: Client, planned: Operation
) -> None:
    page = give(client, planned, how="patch", body='[{"op": "remove", "path": "/x"}]')

    assert "The patch fits 0 of 3." in page
    assert "The patch fits none of them." in page


def test_a_large_set_is_looked_at_by_the_worker(client: Client, omar: User) -> None:
    make_places()
    many(320)
    planned = plan(client)

    page = give(client, planned, op_0="set", name_0="subject", value_0="x")

    assert "of 320. You can leave this page: the check continues." in page
    assert "It can be started when the patch has been checked." in page
    assert 'hx-trigger="turned"' in part_of(client, planned)
    answer = client.post(url("start", planned), {"reason": "mended"})
    assert answer.status_code == 409
    assert "is not complete yet" in answer.content.decode()
    while operations.look(planned.pk):
        pass
    assert "The patch fits 320 of 320." in said(client, url("operation", planned))


def test_only_what_is_sent_on_can_be_repaired(client: Client, omar: User) -> None:
    make_places()
    make_queue("review")
    die()
    moving = order(client, "move", queue="DLQ", to="review")
    assert "Write a patch" in said(client, url("operation", moving))

    removing = order(client, "remove", queue="DLQ")

    assert "Write a patch" not in said(client, url("operation", removing))
    assert client.post(url("repair", removing), EUR).status_code == 409


def test_who_may_not_read_the_messages_sees_no_values_and_patches_nothing(
    client: Client, planned: Operation
) -> None:
    give(client, planned, **EUR)
    vera = make_user("vera", permissions=("broker.view_queue",), granted=("inquire",))
    client.force_login(vera)

    page = said(client, url("operation", planned))

    assert "The patch fits 2 of 3." in page
    assert "XBT" not in page
    assert "EUR" not in page
    assert client.post(url("repair", planned), EUR).status_code == 403
    otto = make_user(
        "otto",
        permissions=tuple(roles.ROLES["operator"]),
        granted=("inquire", "get", "put"),
    )
    make_authority(otto, "browse", pattern="orders")
    client.force_login(otto)
    assert client.post(url("repair", planned), EUR).status_code == 403
