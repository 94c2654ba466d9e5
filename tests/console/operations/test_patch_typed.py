"""A patch that is being written: its newest message beside it, keys that begin it, and
what it would change there. Nothing is stored until it is sent."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.html import escape
from selectolax.lexbor import LexborHTMLParser

from broker.models import Operation, OperationPatch
from console.accounts import roles
from tests.console.letters import die, make_places
from tests.console.operations.ordering import plan, url
from tests.make import make_redaction, make_user

pytestmark = pytest.mark.django_db

BODY = b"""{"price": 1.10, "customer": {"id": 12345678901234567890, "a/b": "x"},
"items": [{"sku": "A<b>"}, {"sku": null}], "none": [], "deep": {}}"""


@pytest.fixture
def omar(client: Client) -> User:
    user = make_user("omar", permissions=tuple(roles.ROLES["operator"]))
    client.force_login(user)
    return user


def planned(client: Client, *bodies: bytes) -> Operation:
    make_places()
    for body in bodies:
        die(body=body, content_type="application/json", properties={"tenant": "7"})
    return plan(client)


def page_of(client: Client, operation: Operation) -> LexborHTMLParser:
    return LexborHTMLParser(client.get(url("operation", operation)).content)


def send(client: Client, operation: Operation, **fields: str) -> LexborHTMLParser:
    answer = client.post(
        url("repair", operation), {"how": "merge", "body": "", **fields}
    )
    assert answer.status_code == 200
    assert not OperationPatch.objects.exists(), "nothing is stored"
    return LexborHTMLParser(answer.content)


def typed(page: LexborHTMLParser) -> tuple[str, str]:
    """How the body is patched in the form, and the patch without blanks."""
    area, how = page.css_first("#id_body"), page.css_first("[name=how][checked]")
    assert area
    assert how
    return how.attributes["value"] or "", "".join(area.text().split())


def fault(page: LexborHTMLParser) -> str:
    found = page.css_first("#repair-part [role=alert]")
    return " ".join(found.text().split()) if found else ""


def test_the_newest_message_stands_beside_the_form(client: Client, omar: User) -> None:
    operation = planned(client, b'{"old": 1}', BODY)

    example = page_of(client, operation).css_first(".repair-example")

    assert example
    keys = [one.attributes["value"] for one in example.css(".body-text .key")]
    assert keys == [
        *("/price", "/customer", "/customer/id", "/customer/a~1b", "/items"),
        *("/items/0/sku", "/items/1/sku", "/none", "/deep"),
    ]
    lines = [one.text() for one in example.css(".body-text .line")]
    assert '  "price": 1.10,' in lines
    assert '    "id": 12345678901234567890,' in lines
    assert '      "sku": "A<b>"' in lines
    assert example.css_first("[name=begin_header][value='h.tenant']")


@pytest.mark.parametrize(
    ("pointer", "body", "how", "then"),
    [
        ("/price", "", "merge", '{"price":1.10}'),
        ("/customer/id", "", "merge", '{"customer":{"id":12345678901234567890}}'),
        ("/customer/a~1b", '{"n": 1}', "merge", '{"n":1,"customer":{"a/b":"x"}}'),
        ("/customer/id", '{"customer": {"id": 5}}', "merge", '{"customer":{"id":5}}'),
        (
            *("/items/1/sku", "", "patch"),
            '[{"op":"replace","path":"/items/1/sku","value":null}]',
        ),
        ("/items", "", "merge", '{"items":[{"sku":"A<b>"},{"sku":null}]}'),
    ],
)
def test_a_key_begins_a_patch(
    client: Client, omar: User, pointer: str, body: str, how: str, then: str
) -> None:
    operation = planned(client, BODY)

    page = send(client, operation, begin=pointer, body=body)

    assert typed(page) == (how, then)
    assert not fault(page)


def test_a_key_is_one_more_operation_of_a_json_patch(
    client: Client, omar: User
) -> None:
    operation = planned(client, BODY)
    body = '[{"op": "test", "path": "/price", "value": 1.10}]'

    page = send(client, operation, begin="/customer/a~1b", how="patch", body=body)

    assert typed(page) == (
        "patch",
        '[{"op":"test","path":"/price","value":1.10},'
        '{"op":"replace","path":"/customer/a~1b","value":"x"}]',
    )


@pytest.mark.parametrize(
    ("pointer", "how", "body", "why"),
    [
        ("/gone", "merge", "", "The message has no such value."),
        ("/items/7", "merge", "", "The message has no such value."),
        ("/items/-", "merge", "", "The message has no such value."),
        ("/customer/a~1b/0", "merge", "", "The message has no such value."),
        ("price", "merge", "", "The message has no such value."),
        ("/price", "merge", "{", "The patch below is not JSON: "),
        ("/price", "patch", "{}", "A JSON patch is a list of operations."),
        ("/items/0/sku", "merge", '{"a": 1}', "A merge patch replaces arrays"),
        ("/customer/id", "merge", '{"customer": 5}', "The patch replaces this value"),
        ("/price", "merge", "[1]", "The patch replaces this value already."),
    ],
)
def test_what_cannot_begin_there_is_told_and_what_was_typed_stays(
    client: Client, omar: User, pointer: str, how: str, body: str, why: str
) -> None:
    operation = planned(client, BODY)

    page = send(client, operation, begin=pointer, how=how, body=body)

    assert fault(page).startswith(why)
    assert typed(page)[1] == "".join(body.split())


def test_a_header_begins_an_operation_on_it(client: Client, omar: User) -> None:
    operation = planned(client, BODY)

    page = send(client, operation, begin_header="h.tenant")

    row = page.css_first(".header-row")
    assert row
    assert row.css_first("option[selected]").attributes["value"] == "set"  # type: ignore[union-attr]
    values = [one.attributes["value"] for one in row.css("input")]
    assert values == ["h.tenant", '"7"'], "a text that looks like a number is in quotes"


@pytest.mark.parametrize(
    ("body", "then"),
    [
        ("", "Choose a key below, or type a patch."),
        ('{"price": 2}', "taken out: /price: 1.10 put in: /price: 2"),
        (
            '{"price": 1.10}',
            "It does not apply to this message: The patch would change nothing in it.",
        ),
        ("{", "This is not JSON: "),
    ],
)
def test_what_is_typed_is_tried_on_the_newest_message(
    client: Client, omar: User, body: str, then: str
) -> None:
    operation = planned(client, BODY)

    answer = client.post(
        url("repair", operation), {"how": "merge", "body": body, "try": "1"}
    )

    tree = LexborHTMLParser(answer.content)
    for sign in tree.css(".diff-sign"):
        sign.decompose()
    assert " ".join(tree.text(separator=" ").split()).startswith(then)
    assert not OperationPatch.objects.exists()


def test_a_masked_message_is_not_shown_and_begins_nothing(
    client: Client, omar: User
) -> None:
    operation = planned(client, BODY)
    make_redaction("PII", "json", "/price")

    page = page_of(client, operation)
    begun = send(client, operation, begin="/price")

    assert not page.css_first(".repair-example")
    assert fault(begun) == "You may not see a message of this plan, or none is stored."
    assert escape("12345678901234567890") not in begun.html  # type: ignore[operator]


def test_a_body_that_is_no_json_is_told(client: Client, omar: User) -> None:
    operation = planned(client, b"no")

    example = page_of(client, operation).css_first(".repair-example")

    assert example
    assert "Its body is not JSON" in example.text()
    assert not example.css("[name=begin]")
