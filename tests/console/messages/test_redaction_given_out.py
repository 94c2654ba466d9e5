"""What rules mask is masked in whatever is given out, and nobody can ask for it."""

from __future__ import annotations

import io
import json
from html import unescape
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse

from broker.monitoring.dead_letters import Letter
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.console.messages.masking import (
    API,
    FIELDS,
    SECRET,
    TENANT,
    WHY,
    assert_masked,
    content,
    make_rules,
    unmasked,
)
from tests.make import make_queue

pytestmark = pytest.mark.django_db


@pytest.fixture
def letter() -> Letter:
    """A dead letter of orders, on DLQ: the rules are for orders."""
    make_places(attempts=1)
    make_rules()
    return die(attempts=1, **FIELDS)


@pytest.fixture
def omar(sign_in: SignIn) -> Client:
    """An operator: browses and repairs, and unmasks nothing."""
    return sign_in("operator")


def backout(*arguments: str) -> str:
    out = io.StringIO()
    call_command("backout", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_the_api_masks_and_says_by_what(omar: Client, letter: Letter) -> None:
    found = omar.get(f"{API}/messages/{letter.message_id}").json()

    assert_masked(json.dumps(found, ensure_ascii=False))
    assert found["masked_by"] == ["PII-1", "PII-2"]
    assert found["is_withheld"] is False
    assert json.loads(found["body"])["ward"] == "B3"
    asked = omar.get(f"{API}/messages/{letter.message_id}", {"unmask": WHY})
    assert asked.status_code == 403
    assert asked.json()["code"] == "masked-message"
    listed = omar.get(f"{API}/queues/DLQ/messages", {"whole": "true", "unmask": WHY})
    assert_masked(content(listed), mark="masked by rule")


def test_the_api_unmasks_for_a_reason(ada: Client, letter: Letter) -> None:
    url = f"{API}/messages/{letter.message_id}"
    assert_masked(json.dumps(ada.get(url).json(), ensure_ascii=False))

    found = ada.get(url, {"unmask": WHY}).json()
    listed = ada.get(f"{API}/queues/DLQ/messages", {"whole": "true", "unmask": WHY})

    assert json.loads(found["body"])["patient"]["name"] == SECRET
    assert found["masked_by"] == []
    assert SECRET in content(listed)
    assert [one.object_kind for one in unmasked()] == ["queue", "message"]


def test_who_gets_by_the_api_gets_it_masked_unless_it_is_an_application(
    omar: Client,
) -> None:
    make_queue()
    make_rules()
    put("orders", **FIELDS, priority=9)

    got = omar.post(f"{API}/queues/orders/get", {"limit": 1}, "application/json")

    assert_masked(json.dumps(got.json(), ensure_ascii=False))
    narrowed = {"limit": 1, "selector": f"tenant = '{TENANT}'"}
    asked = omar.post(f"{API}/queues/orders/get", narrowed, "application/json")
    assert asked.json()["code"] == "masked-search"


@pytest.mark.parametrize("url", [reverse("console:export"), f"{API}/messages/export"])
def test_files_are_masked(omar: Client, letter: Letter, url: str) -> None:
    asked = {"f": "queue:DLQ", "bodies": "true"}

    assert_masked(content(omar.get(url, asked)))
    assert_masked(content(omar.get(url, asked | {"unmask": WHY})))
    for format_ in ("csv", "ndjson"):
        text = content(omar.get(url, {"f": "queue:DLQ", "format": format_}))
        assert SECRET not in text
        assert TENANT not in text
        assert str(letter.message_id) in text


def test_a_file_is_unmasked_for_a_reason(ada: Client, letter: Letter) -> None:
    asked = {"f": "queue:DLQ", "bodies": "1", "unmask": WHY}

    assert SECRET in content(ada.get(reverse("console:export"), asked))

    (record,) = unmasked()
    assert (record.object_kind, record.object_name) == ("export", "queue:DLQ")


@pytest.mark.parametrize(
    "text",
    [
        *("body:Doe*", "h.tenant:t*", "-h.TENANT:x", "body:B3", "body.patient.name:D*"),
        *("-body.patient.name:x", "body.patient:*Doe*", "body.ward:B3"),
    ],
)
def test_a_filter_does_not_tell_what_is_masked(
    omar: Client, letter: Letter, text: str
) -> None:
    for url in (
        reverse("console:messages"),
        reverse("console:export"),
        f"{API}/messages",
        f"{API}/messages/count",
    ):
        answer = omar.get(url, {"f": ["state:dead", text]})
        assert answer.status_code == 403, url
        assert "would disclose values that are masked by rule PII-" in unescape(
            answer.content.decode()
        )
    allowed = omar.get(f"{API}/messages", {"f": ["state:dead", "h.shift:night"]})
    assert len(allowed.json()["messages"]) == 1


def test_who_may_unmask_may_look_for_it(ada: Client, letter: Letter) -> None:
    for text in (f"body:{SECRET}", f"body.patient.name:{SECRET}"):
        found = ada.get(f"{API}/messages", {"f": [text]}).json()
        assert [one["message_id"] for one in found["messages"]] == [letter.message_id]


def test_completions_do_not_tell_what_is_masked(omar: Client, letter: Letter) -> None:
    def told(text: str) -> str:
        return content(omar.get(reverse("console:complete"), {"text": text}))

    assert "night" in told("h.shift:")
    assert "h.tenant:" in told("h.ten")
    for text in ("h.tenant:", "h.tenant:t", 'h."tenant":'):
        assert TENANT not in told(text)
    assert "masked by rule PII-2" in told("h.tenant:")
    for text in ("body.", "body.patient.", "body.patient.name:", "body.ward:"):
        assert '"options": []' in told(text)
        assert "masked by rule PII-1" in told(text)


def test_a_selector_does_not_tell_what_is_masked(omar: Client, letter: Letter) -> None:
    put("orders", **FIELDS)
    said = {"which": "all", "kind": "remove", "reason": WHY}
    url = reverse("console:order", args=["orders"])

    answer = omar.post(url, said | {"selector": f"tenant = '{TENANT}'"})

    assert answer.status_code == 403
    assert omar.post(url, said | {"selector": "shift = 'tenant'"}).status_code != 403
    quoted = f"\"tenant\" LIKE '{TENANT[:1]}%'"
    assert omar.post(url, said | {"selector": quoted}).status_code == 403


@pytest.mark.parametrize("user", [[], ["--user", "operator"]], ids=["none", "omar"])
def test_the_command_line_masks(
    omar: Client, letter: Letter, user: list[str], tmp_path: Path
) -> None:
    put("orders", **FIELDS)
    file = tmp_path / "out.ndjson"

    assert_masked(backout("browse", "DLQ", "--whole", "--json", *user))
    assert_masked(backout("browse", "DLQ", "--whole", *user))
    assert_masked(backout("get", "orders", "--json", *user))
    backout("messages", "export", "-f", "queue:DLQ", "--to", str(file), *user)

    line = json.loads(file.read_text())
    assert_masked(file.read_text())
    assert line["masked_by"] == ["PII-1", "PII-2"]
    with pytest.raises(CommandError, match="masked"):
        backout("messages", "import", str(file), "--to", "orders", "--yes")


def test_the_command_line_unmasks_for_a_reason(omar: Client, letter: Letter) -> None:
    for_omar = ["--user", "operator"]
    asked = ["browse", "DLQ", "--whole", "--json", "--unmask", WHY]

    assert SECRET in backout(*asked)
    assert_masked(backout(*asked, *for_omar))

    assert [one.actor_kind for one in unmasked()] == ["user", "system"]
    put("orders", **FIELDS)
    with pytest.raises(CommandError, match="masked"):
        backout("get", "orders", "--yes", *for_omar)
    assert UnitOfWork().get("orders"), "it is still there"
