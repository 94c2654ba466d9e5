"""The reference of the API: whatever the OpenAPI document has, by part."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from console import api
from console.reference import document
from tests.console.conftest import SignIn

pytestmark = pytest.mark.django_db

PAGE = reverse("console:api_reference")
DOCUMENT: dict[str, Any] = {
    "components": {
        "schemas": {
            "Message": {
                "type": "object",
                "required": ["body"],
                "properties": {
                    "body": {"type": "string", "maxLength": 9, "description": "Text."},
                    "kind": {"enum": ["a", "b"], "default": "a"},
                    "due": {
                        "anyOf": [
                            {"type": "string", "format": "date-time"},
                            {"type": "null"},
                        ]
                    },
                    "ids": {"type": "array", "items": {"type": "integer"}},
                    "replies": {
                        "type": "array",
                        "items": {"$ref": "#/components/schemas/Message"},
                    },
                },
            }
        }
    }
}
MESSAGE = {"$ref": "#/components/schemas/Message"}


def test_each_operation_is_described_on_the_page_of_its_part(sign_in: SignIn) -> None:
    client = sign_in("viewer")
    links = re.findall(
        r'href="([^"]+/api/docs/[^"]+|/api/docs/[^"#]+)#(\w+)"', text(client, PAGE)
    )
    by_page: dict[str, list[str]] = {}
    for page, name in links:
        by_page.setdefault(page, []).append(name)

    names = [
        operation["operationId"]
        for methods in api.document()["paths"].values()
        for operation in methods.values()
    ]
    assert sorted(name for _, name in links) == sorted(names)
    for page, found in by_page.items():
        described = text(client, page)
        assert all(
            f'<section class="card card-body stack" id="{name}"' in described
            for name in found
        )


def test_a_response_is_told_with_its_status(sign_in: SignIn) -> None:
    page = reverse("console:api_part", args=["queues"])

    assert "<summary>Response 200: <span" in text(sign_in("viewer"), page)


def test_a_search_shows_the_operations_that_have_all_words(sign_in: SignIn) -> None:
    client = sign_in("viewer")

    assert "#pause_queue" in text(client, f"{PAGE}?q=pause+queue")
    assert "#list_queues" not in text(client, f"{PAGE}?q=pause+queue")
    assert "No operation has these words" in text(client, f"{PAGE}?q=zebra")


def test_there_is_no_page_for_another_part(sign_in: SignIn) -> None:
    assert (
        sign_in("viewer").get(reverse("console:api_part", args=["x"])).status_code
        == 404
    )


@pytest.mark.parametrize(("is_public", "status"), [(False, 401), (True, 200)])
def test_the_document_is_public_if_a_setting_says_so(
    client: Client, settings: Any, status: int, *, is_public: bool
) -> None:
    settings.BACKOUT_OPENAPI_IS_PUBLIC = is_public

    assert client.get(reverse("backout_api:openapi")).status_code == status


def test_fields_are_listed_with_those_within_them_and_once_where_they_recur() -> None:
    fields = list(document.Reader(DOCUMENT).fields(MESSAGE))

    assert [(one.name, one.type, one.is_required, one.words) for one in fields] == [
        ("body", "string", True, "Text; at most 9 characters"),
        ("kind", '"a", "b"', False, 'default "a"'),
        ("due", "date-time or null", False, ""),
        ("ids", "array of integer", False, ""),
        ("replies", "array of object", False, ""),
    ]


def test_the_command_has_what_is_required() -> None:
    asked = {"application/json": {"schema": MESSAGE}}

    command = document.Reader(DOCUMENT).command("/messages", "post", asked)

    assert shlex.split(command)[-2:] == ['{"body": "\\u2026"}', "$URL/messages"]


def text(client: Client, page: str) -> str:
    return client.get(page).content.decode()


def test_a_docstring_is_paragraphs_of_text_and_code() -> None:
    assert document.pieces("One, if\n``next`` is\nset.") == [
        ("One, if ", False),
        ("next", True),
        (" is set.", False),
    ]
