"""One message edited over the API: its copy is sent, or nothing is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client

from broker.models import Act, Message, Operation, Ready
from broker.queueing.put import put
from broker.security import authorities
from broker.transactions.scope import UnitOfWork
from console.accounts import roles
from tests.console.conftest import SignIn
from tests.console.edges.test_api import ROOT, problem
from tests.console.letters import die, make_places
from tests.console.recorded import deeds
from tests.make import make_queue, make_redaction, make_user

pytestmark = pytest.mark.django_db

JSON = "application/json"
BROKEN = b'{"id": 12345678901234567890, "price": 1.10, "currency": "XBT"}'
FIXED = BROKEN.replace(b"XBT", b"EUR")
EUR = {"body": {"patch": [{"op": "replace", "path": "/currency", "value": "EUR"}]}}


def edit(client: Client, message_id: int, body: Any) -> Any:
    where = f"{ROOT}/messages/{message_id}/edit"
    return client.post(where, json.dumps(body), content_type=JSON)


def stored(message_id: int) -> Message:
    return Message.objects.get(pk=message_id)


def test_a_dead_letter_goes_back_edited_with_all_digits(sign_in: SignIn) -> None:
    make_places()
    letter = die(body=BROKEN, content_type=JSON, correlation_id="c-1")
    headers = [{"op": "set", "name": "subject", "value": "corrected"}]
    said = {"patch": EUR | {"headers": headers}, "reason": "wrong currency"}

    told = edit(sign_in("operator"), letter.message_id, said).json()

    copy = stored(told["message_id"])
    assert bytes(copy.body) == FIXED
    assert (copy.subject, copy.correlation_id) == ("corrected", "c-1")
    assert told["copied_from"] == copy.copied_from == letter.message_id
    assert Ready.objects.get().id == copy.pk
    operation = Operation.objects.get(pk=told["operation_id"])
    assert (operation.kind, operation.reason) == ("resubmit", "wrong currency")
    assert [one.act for one in deeds()] == [Act.PLAN, Act.START]


@pytest.mark.parametrize(
    ("body", "encoding", "bytes_"),
    [("grün", "text", "grün".encode()), ({"a": 1}, "json", b'{"a":1}'),
     ("AAE=", "base64", b"\x00\x01")],
)  # fmt: skip
def test_a_waiting_message_is_replaced_by_a_whole_body(
    sign_in: SignIn, body: Any, encoding: str, bytes_: bytes
) -> None:
    make_queue()
    message_id = put("orders", b"old").message_id
    assert message_id is not None

    said = {"body": body, "encoding": encoding}
    told = edit(sign_in("operator"), message_id, said).json()

    assert bytes(stored(told["message_id"]).body) == bytes_
    assert [one.id for one in Ready.objects.all()] == [told["message_id"]]


def test_what_cannot_be_edited_stays_and_the_reason_is_told(sign_in: SignIn) -> None:
    make_queue()
    message_id = put("orders", BROKEN, content_type=JSON).message_id
    assert message_id is not None
    client = sign_in("operator")
    absent = {"patch": {"body": {"patch": [{"op": "remove", "path": "/x"}]}}}

    for said in (absent, {"body": BROKEN.decode()}):
        told = problem(edit(client, message_id, said), 409)
        assert told["code"] == "not-repaired"
    both = {"patch": EUR, "body": "x"}
    assert problem(edit(client, message_id, both), 422)["code"] == "invalid-patch"
    assert problem(edit(client, message_id, {}), 422)["code"] == "invalid-request"
    told = problem(edit(client, 987_654, {"body": "x"}), 404)
    assert told["code"] == "no-such-message"
    UnitOfWork().get("orders")
    told = problem(edit(client, message_id, {"body": "x"}), 409)
    assert told["code"] == "nothing-chosen"
    assert not Operation.objects.exists()


def test_who_may_not_read_or_send_edits_nothing(
    sign_in: SignIn, client: Client
) -> None:
    make_queue()
    message_id = put("orders", b'{"name": "olga"}', content_type=JSON).message_id
    assert message_id is not None
    body = {"body": "x"}

    assert problem(edit(sign_in("viewer"), message_id, body), 403)
    ways: list[tuple[tuple[authorities.Authority, ...], int]] = [
        (("put",), 404),
        (("inquire", "browse"), 403),
    ]
    for granted, status in ways:
        rights = tuple(roles.OPERATOR)
        user = make_user(f"u{status}", permissions=rights, granted=granted)
        client.force_login(user)
        assert problem(edit(client, message_id, body), status)
    make_redaction("PII-1", "json", "/name")
    told = problem(edit(sign_in("operator"), message_id, body), 403)
    assert told["code"] == "masked-message"
    assert Ready.objects.get().id == message_id
