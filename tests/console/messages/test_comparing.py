"""Two messages side by side."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from broker.monitoring.dead_letters import Letter
from broker.queueing.put import put
from tests.console.conftest import SignIn
from tests.console.letters import attempt, die, make_places
from tests.console.messages.test_messages import EVIL, words
from tests.make import NOON, make_redaction, make_user

pytestmark = pytest.mark.django_db
JSON: dict[str, Any] = {"content_type": "application/json"}


@pytest.fixture
def accepted() -> int:
    make_places()
    body = b'{"a": 1, "b": 2}'
    found = put("orders", body, properties={"region": "eu"}, now=NOON, **JSON)
    attempt()
    return found.message_id


@pytest.fixture
def letter(accepted: int) -> Letter:
    return die(body=b'{"a": 1, "b": "two"}', properties={"region": EVIL}, **JSON)


def compare(client: Client, letter: Letter, **query: int | str) -> str:
    url = reverse("console:compare", args=[letter.message_id])
    answer = client.get(url, query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_an_accepted_message_of_the_same_address_is_offered(
    sign_in: SignIn, letter: Letter, accepted: int
) -> None:
    html = compare(sign_in("operator"), letter)

    assert f'value="{accepted}"' in html
    assert f"{accepted} is the newest that was accepted from there." in words(html)


def test_what_differs_is_shown_by_lines(
    sign_in: SignIn, letter: Letter, accepted: int
) -> None:
    html = compare(sign_in("operator"), letter, other=accepted)

    said = words(html)
    assert f"− message {accepted}, + message {letter.origin_id}" in said
    assert 'taken out: h.region: "eu"' in said
    assert '{"a": 1, "b": 2}' in said
    assert '{"a": 1, "b": "two"}' in said
    assert EVIL not in html


def test_a_message_is_the_same_as_itself(sign_in: SignIn, letter: Letter) -> None:
    said = words(compare(sign_in("operator"), letter, other=letter.message_id))
    assert "Headers, properties and bodies of the two are the same." in said


@pytest.mark.parametrize("other", ["0", "x", str(2**62), "999999"])
def test_what_is_no_message_is_told(
    sign_in: SignIn, letter: Letter, other: str
) -> None:
    html = compare(sign_in("operator"), letter, other=other)
    assert 'id="other-error"' in html
    assert "What differs" not in html


def test_who_may_not_read_the_other_is_told_the_same_as_if_there_were_none(
    client: Client, letter: Letter, accepted: int
) -> None:
    may = ("broker.view_queue", "broker.browse_queue")
    client.force_login(make_user("ines", permissions=may, pattern="DLQ"))

    html = compare(client, letter, other=accepted)

    assert f"There is no message {accepted} that you may read." in words(html)
    assert "is the newest that was accepted" not in words(compare(client, letter))


def test_a_masked_message_is_not_compared(
    sign_in: SignIn, letter: Letter, accepted: int
) -> None:
    make_redaction("PII", "json", "/b")
    html = compare(sign_in("operator"), letter, other=accepted)
    assert "Parts of one of the two are masked for you." in words(html)
    assert "two&quot;" not in html
