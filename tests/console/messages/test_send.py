"""A person sends a message: what was typed is what consumers get."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from broker.models import Act, AuditRecord, Message, Queue
from broker.queueing.put import put
from broker.sql import database_now
from broker.transactions.scope import unit_of_work
from tests.console.conftest import SignIn
from tests.console.messages.test_messages import words
from tests.make import make_queue, make_redaction, make_user

pytestmark = pytest.mark.django_db
DEFAULTS = {"body": "", "priority": "4", "durable": "on"}


@pytest.fixture
def orders(db: None) -> Queue:
    return make_queue("orders")


def url(queue: str = "orders") -> str:
    return reverse("console:send", args=[queue])


def sent(client: Client, queue: str = "orders", **said: Any) -> Any:
    return client.post(url(queue), DEFAULTS | said)


def test_a_text_is_sent_and_its_page_is_shown(sign_in: SignIn, orders: Queue) -> None:
    client = sign_in("operator")

    answer = client.post(url(), DEFAULTS | {"body": "first\r\nsecond"}, follow=True)

    message = Message.objects.get()
    assert bytes(message.body) == b"first\nsecond"
    assert message.content_type == "text/plain; charset=utf-8"
    assert (message.priority, message.durable) == (4, True)
    assert message.producer == "operator"
    assert f"Message {message.pk}" in words(answer.content.decode())
    assert f'<a href="{url()}">Send another</a>' in answer.content.decode()
    record = AuditRecord.objects.get(act=Act.SEND)
    assert (record.actor, record.object_name) == ("operator", "orders")
    assert record.details["message"] == message.pk
    assert b"first" not in record.detail.encode()


def test_headers_and_properties_have_their_types(
    sign_in: SignIn, orders: Queue
) -> None:
    before = database_now()

    sent(
        sign_in("operator"),
        body='{"a": 1}',
        content_type="application/json",
        priority="9",
        durable="",
        correlation_id="c-1",
        reply_to="answers",
        subject="order.new",
        expiry="10 min",
        delay="30 s",
        property_name=["tenant", "count", "share", "rush", ""],
        property_type=["text", "integer", "decimal", "boolean", "text"],
        property_value=["7", "7", "0.5", "True", ""],
    )

    message = Message.objects.get()
    assert message.properties == {
        "tenant": "7", "count": 7, "share": 0.5, "rush": True,
    }  # fmt: skip
    assert (message.priority, message.durable) == (9, False)
    assert (message.correlation_id, message.reply_to, message.subject) == (
        *("c-1", "answers", "order.new"),
    )
    assert message.expires_at is not None
    assert message.expires_at - before >= timedelta(minutes=10)
    with unit_of_work() as work:
        assert list(work.get("orders")) == [], "it is delayed"


def test_a_file_is_sent_byte_for_byte(sign_in: SignIn, orders: Queue) -> None:
    content = bytes(range(256)) + b"\r\n"
    file = SimpleUploadedFile("scan.png", content, content_type="image/png")

    sent(sign_in("operator"), file=file)

    message = Message.objects.get()
    assert (bytes(message.body), message.content_type) == (content, "image/png")


@pytest.mark.parametrize(
    ("said", "field", "why"),
    [
        ({"priority": "10"}, "priority", "less than or equal to 9"),
        ({"expiry": "10"}, "expiry", "Write a number and a unit"),
        ({"delay": "0 s"}, "delay", "longer than 0"),
        ({"content_type": "text/plain; charset=x"}, "content_type", "character set x"),
        (
            {"body": "ü", "content_type": "text/plain; charset=ascii"},
            "content_type",
            "ascii has no character 'ü'",
        ),
    ],
)
def test_an_error_stands_at_its_field_and_nothing_is_sent(
    sign_in: SignIn, orders: Queue, said: dict[str, str], field: str, why: str
) -> None:
    answer = sent(sign_in("operator"), **said)

    assert answer.status_code == 422
    assert why in " ".join(answer.context["form"].errors[field])
    assert not Message.objects.exists()


@pytest.mark.parametrize(
    ("name", "kind", "value", "why"),
    [
        ("", "text", "7", "needs a name"),
        ("tenant", "text", "", "There is a property of this name above."),
        ("count", "integer", "7.5", "Type a whole number"),
        ("count", "integer", str(2**63), "Type a whole number"),
        ("share", "decimal", "NaN", "Type a number"),
        ("rush", "boolean", "yes", "Type true or false."),
    ],
)
def test_an_error_of_a_property_stands_at_its_row(
    sign_in: SignIn, orders: Queue, name: str, kind: str, value: str, why: str
) -> None:
    answer = sent(
        sign_in("operator"),
        property_name=["tenant", name],
        property_type=["text", kind],
        property_value=["t7", value],
    )

    html = answer.content.decode()
    assert answer.status_code == 422
    assert why in html[html.index('id="property-2-error"') :]
    assert 'value="t7"' in html, "what was typed stays"
    assert not Message.objects.exists()


def test_a_text_and_a_file_are_one_too_many(sign_in: SignIn, orders: Queue) -> None:
    answer = sent(sign_in("operator"), body="x", file=SimpleUploadedFile("x", b"y"))

    assert "Give a text or a file, not both." in answer.content.decode()


def test_refusals_of_the_broker_are_told_in_the_form(
    sign_in: SignIn, settings: Settings
) -> None:
    make_queue("full", max_depth=0)
    make_queue("picky", selector="colour = 'red'")
    make_queue("shut", put_inhibited=True)
    make_queue("orders")
    settings.BROKER_MAX_MESSAGE_BYTES = 3
    client = sign_in("operator")

    told = {
        name: words(sent(client, name, body=body).content.decode())
        for name, body in {
            "full": "",
            "picky": "",
            "shut": "",
            "orders": "long",
        }.items()
    }

    assert "full" in told["full"]
    assert "No queue took the message" in told["picky"]
    assert "shut" in told["shut"]
    assert "at most 3 B" in told["orders"], "the limit is told before, too"
    assert not Message.objects.exists()
    assert not AuditRecord.objects.filter(act=Act.SEND).exists()


def test_it_takes_the_authority_put(client: Client, orders: Queue) -> None:
    look = ("broker.view_queue",)
    client.force_login(make_user("vera", permissions=look, granted=("inquire",)))
    assert url() not in client.get("/queues/orders/").content.decode()
    assert client.get(url()).status_code == sent(client).status_code == 403
    client.force_login(make_user("paul", permissions=look, granted=("inquire", "put")))
    assert url() in client.get("/queues/orders/").content.decode()
    assert sent(client).status_code == 302


def test_one_like_another_is_filled_in(sign_in: SignIn, orders: Queue) -> None:
    first = put(
        "orders",
        b'{"a": 1}',
        content_type="application/json",
        properties={"tenant": "t7", "count": 7, "rush": False, "none": None},
        subject="order.new",
        priority=7,
    )
    client = sign_in("operator")
    link = f"{url()}?like={first.message_id}"
    assert link in client.get(f"/messages/{first.message_id}/").content.decode()

    form = client.get(link).context["form"]

    assert (form["body"].value(), form["priority"].value()) == ('{"a": 1}', 7)
    assert form["content_type"].value() == "application/json"
    assert {(row.name, row.type, row.text) for row in form.rows} == {
        ("tenant", "text", "t7"),
        ("count", "integer", "7"),
        ("rush", "boolean", "false"),
    }


def test_what_is_masked_or_not_to_be_read_is_not_copied(
    sign_in: SignIn, client: Client, orders: Queue
) -> None:
    first = put("orders", b'{"name": "Ada"}', content_type="application/json")
    link = f"{url()}?like={first.message_id}"
    look = ("broker.view_queue",)
    client.force_login(make_user("paul", permissions=look))
    assert "Ada" not in client.get(link).content.decode()
    make_redaction("PII-1", "json", "/name")

    answer = sign_in("operator").get(link)

    assert answer.status_code == 403
    assert "Ada" not in answer.content.decode()
