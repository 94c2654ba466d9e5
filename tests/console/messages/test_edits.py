"""One message repaired on its page: typed, looked at, sent; never lost on the way."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from broker.models import Message, Operation, Ready
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from console.accounts import roles
from tests.console.letters import die, make_places
from tests.console.messages.test_messages import words
from tests.make import NOON, make_queue, make_user

pytestmark = pytest.mark.django_db

JSON = "application/json"
BROKEN = b'{"id": 12345678901234567890, "price": 1.10, "currency": "XBT"}'
FIXED = BROKEN.replace(b"XBT", b"EUR").decode()


@pytest.fixture
def omar(client: Client) -> User:
    user = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    client.force_login(user)
    return user


def url(message_id: int) -> str:
    return reverse("console:edit", args=[message_id])


def typed(client: Client, message_id: int, **changed: str) -> dict[str, str]:
    """The fields of the form as a browser sends them, with some typed over."""
    page = client.get(url(message_id)).content.decode()
    form = page[page.index('id="repair"') :].partition("</form>")[0]
    fields = {
        name: unescape(value)
        for name, value in re.findall(
            r'<input[^>]*? name="([\w-]+)"[^>]*? value="([^"]*)"', form
        )
        if name != "csrfmiddlewaretoken"
    }
    for name, text in re.findall(
        r'<textarea[^>]*? name="(\w+)"[^>]*>\n(.*?)</textarea>', form, re.S
    ):
        # As HTML reads it, and as browsers write it.
        lines = unescape(text).replace("\r\n", "\n").replace("\r", "\n")
        fields[name] = lines.replace("\n", "\r\n")
    return fields | changed


def preview(client: Client, message_id: int, **changed: str) -> dict[str, str]:
    """Look at what is typed; the fields with which it can be sent."""
    said = typed(client, message_id, **changed)
    answer = client.post(url(message_id), said | {"look": ""})
    assert answer.status_code == 200, words(answer.content.decode())
    seen = re.search(r'name="seen" value="(\w+)"', answer.content.decode())
    assert seen
    return said | {"seen": seen[1], "send": "1"}


def test_what_is_typed_is_shown_as_a_difference_and_then_sent(
    client: Client, omar: User
) -> None:
    make_places()
    letter = die(body=BROKEN, content_type=JSON, correlation_id="c-1")
    said = preview(client, letter.message_id, body=FIXED, subject="corrected")

    answer = client.post(url(letter.message_id), said | {"reason": "wrong currency"})

    (child,) = Ready.objects.values_list("id", flat=True)
    assert answer["Location"] == reverse("console:message", args=[child])
    row = Message.objects.get(pk=child)
    assert bytes(row.body) == FIXED.encode()
    assert (row.subject, row.correlation_id) == ("corrected", "c-1")
    assert row.copied_from == letter.message_id
    operation = Operation.objects.get()
    assert (operation.reason, operation.created_by) == ("wrong currency", omar)


def test_parent_and_child_show_each_other_and_what_was_changed(
    client: Client, omar: User
) -> None:
    make_places()
    letter = die(body=BROKEN, content_type=JSON)
    client.post(url(letter.message_id), preview(client, letter.message_id, body=FIXED))
    (child,) = Ready.objects.values_list("id", flat=True)

    pages = [
        words(
            client.get(
                reverse("console:message", args=[one]), follow=True
            ).content.decode()
        )
        for one in (letter.message_id, child)
    ]

    assert "Repaired as copy 2" in pages[0]
    assert "Repaired from copy 1" in pages[1]
    assert "as a repaired copy of copy 1" in pages[1]
    for page in pages:
        assert "Repaired, and resubmitted to orders" in page
        assert f"taken out: {BROKEN.decode()}" in page
        assert f"put in: {FIXED}" in page
        assert "put in: h._BRK_RESUBMIT_COUNT" not in page, "every copy has that"


@pytest.mark.parametrize(
    "body",
    [
        b'\xef\xbb\xbf{"b": 1e2,\r\n"a":\t1.10}\r\n',
        b"one\rtwo\nthree\r\n\n",
        "\u202eevil\u200b </textarea><script>".encode(),
        b"\n\nfirst lines are empty",
        b"",
    ],
)
def test_an_untouched_body_keeps_every_byte(
    client: Client, omar: User, body: bytes
) -> None:
    make_places()
    letter = die(body=body, content_type="text/plain")

    said = preview(client, letter.message_id, subject="only this")
    client.post(url(letter.message_id), said)

    (child,) = Ready.objects.values_list("id", flat=True)
    assert bytes(Message.objects.get(pk=child).body) == body


def test_what_is_typed_keeps_the_line_ends_the_mark_and_the_character_set(
    client: Client, omar: User
) -> None:
    make_places()
    body = "é;1\r\nb;2\n".encode("utf-16")
    letter = die(body=body, content_type="text/csv; charset=utf-16")

    said = preview(client, letter.message_id, body="é;1\r\nb;3\r\nc;4\r\n")
    client.post(url(letter.message_id), said)

    (child,) = Ready.objects.values_list("id", flat=True)
    after = bytes(Message.objects.get(pk=child).body)
    assert after == "é;1\r\nb;3\nc;4\n".encode("utf-16")


def test_properties_keep_their_types(client: Client, omar: User) -> None:
    make_places()
    letter = die(properties={"n": 1, "text": "1", "gone": True, "same": 1.5})

    said = preview(
        client, letter.message_id, properties='{"n": 2, "text": "1", "same": 1.50}'
    )
    client.post(url(letter.message_id), said)

    (child,) = Ready.objects.values_list("id", flat=True)
    own = Message.objects.get(pk=child).properties
    assert {k: v for k, v in own.items() if not k.startswith("_")} == {
        "n": 2,
        "text": "1",
        "same": 1.5,
    }


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({}, "Nothing is changed"),
        ({"properties": "{"}, "This is not JSON"),
        ({"properties": "[]"}, "Write one object"),
        ({"properties": '{"a": 1, "a": 2}'}, "twice"),
        ({"properties": '{"a": {}}'}, "a property is a text"),
        ({"properties": '{"_AMQ_ORIG_QUEUE": "x"}'}, "by the broker only"),
        ({"content-type": ""}, "Every message has a content type"),
        ({"body": "snow ☃"}, "iso8859-1 has no character"),
    ],
)
def test_what_cannot_be_sent_is_said_at_its_field(
    client: Client, omar: User, changed: dict[str, str], why: str
) -> None:
    make_places()
    letter = die(body=b"caf\xe9", content_type="text/plain; charset=iso-8859-1")
    said = typed(client, letter.message_id) | changed

    answer = client.post(url(letter.message_id), said | {"send": "1"})

    assert answer.status_code == 422
    assert why in words(answer.content.decode())
    assert not Operation.objects.exists()


def test_a_broken_body_is_warned_of_and_may_be_sent(client: Client, omar: User) -> None:
    make_places()
    letter = die(body=b"{}", content_type=JSON)
    said = typed(client, letter.message_id, body='{"a": }')

    page = words(client.post(url(letter.message_id), said).content.decode())

    assert "does not read so: Expecting value: line 1 column 7" in page
    assert "You may send it anyway" in page


def test_what_was_changed_after_the_preview_is_shown_again_first(
    client: Client, omar: User
) -> None:
    make_places()
    letter = die(body=BROKEN, content_type=JSON)
    said = preview(client, letter.message_id, body=FIXED)

    answer = client.post(url(letter.message_id), said | {"body": "something else"})

    assert answer.status_code == 200
    assert "put in: something else" in words(answer.content.decode())
    assert not Operation.objects.exists()


def test_of_two_editors_the_second_is_told(client: Client, omar: User) -> None:
    make_places()
    letter = die(body=BROKEN, content_type=JSON)
    first = preview(client, letter.message_id, body=FIXED)
    second = preview(client, letter.message_id, body="mine")
    client.post(url(letter.message_id), first)

    answer = client.post(url(letter.message_id), second)

    assert answer.status_code == 409
    assert "continues as copy 2" in words(answer.content.decode())
    assert Operation.objects.count() == 1


def test_a_body_that_is_no_text_stays_and_headers_can_be_changed(
    client: Client, omar: User
) -> None:
    make_places()
    letter = die(body=b"\x89PNG\0\xff", content_type="image/png")
    page = client.get(url(letter.message_id)).content.decode()
    assert "The body cannot be edited here: its bytes are not utf-8" in words(page)
    assert 'name="body"' not in page

    said = preview(client, letter.message_id, subject="picture")
    client.post(url(letter.message_id), said)

    (child,) = Ready.objects.values_list("id", flat=True)
    assert bytes(Message.objects.get(pk=child).body) == b"\x89PNG\0\xff"


def test_what_the_broker_writes_is_shown_and_locked(client: Client, omar: User) -> None:
    make_places()
    letter = die()

    page = client.get(url(letter.message_id)).content.decode()

    seen = words(page)
    assert 'h._AMQ_ORIG_QUEUE "orders" The broker writes it.' in seen
    assert "correlation-id sensitive The receiver of an answer" in seen
    assert "_AMQ_ORIG_QUEUE" not in page[: page.index('id="locked"')]


def test_a_message_that_waits_is_replaced_where_it_is(
    client: Client, omar: User
) -> None:
    make_queue("orders")
    message_id = put("orders", b"one", content_type="text/plain", now=NOON).message_id

    client.post(url(message_id), preview(client, message_id, body="two"))

    (child,) = Ready.objects.values_list("id", flat=True)
    assert child != message_id
    assert bytes(Message.objects.get(pk=child).body) == b"two"


def test_what_a_consumer_has_cannot_be_edited(client: Client, omar: User) -> None:
    make_queue("orders")
    message_id = put("orders", b"one", now=NOON).message_id
    UnitOfWork(now=NOON).get("orders")

    answer = client.get(url(message_id))

    assert answer.status_code == 409
    assert "is not waiting on a queue" in words(answer.content.decode())


def test_anybody_s_content_type_is_only_text(client: Client, omar: User) -> None:
    make_places()
    hostile: dict[str, Any] = {
        "content_type": 'x"><script>',
        "subject": '"><script>',
        "properties": {"<b>": "\u202e</textarea>"},
    }
    letter = die(**hostile)

    page = client.get(url(letter.message_id)).content.decode()

    main = page[page.index("<main") : page.index("</main>")]
    assert "<script" not in main
    assert "<b>" not in main
    assert "\u202e" not in page
