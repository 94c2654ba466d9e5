"""Groups of dead letters through the API: the same as on pages."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from broker.models import DeadLetterGroup
from broker.monitoring.dead_letters import Letter
from console.accounts import roles
from tests.console.conftest import SignIn
from tests.console.letters import die, make_places
from tests.make import make_user

EVERY = "/api/v1/dead-letter-groups"


@pytest.fixture
def letter(db: None) -> Letter:
    cache.clear()
    make_places()
    return die(now=timezone.now() - timedelta(minutes=5))


def call(client: Client, method: str, url: str, status: int = 200, **body: Any) -> Any:
    answer = client.generic(method, url, json.dumps(body), "application/json")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_group_is_described_acknowledged_and_put_off(
    sign_in: SignIn, letter: Letter
) -> None:
    client, one = sign_in("operator"), f"{EVERY}/{letter.fingerprint}"
    (found,) = call(client, "GET", EVERY)["groups"]
    assert (found["standing"], found["messages"], found["owner"]) == ("new", 1, None)
    assert found["hours"] == [0] * 23 + [1]
    assert found["parts"][0]["queue"] == "DLQ"

    link = "https://tickets.example.com/17"
    said = call(
        client, "PUT", f"{one}/description", owner="operator", note="row", ticket=link
    )
    assert (said["owner"], said["note"], said["ticket"]) == ("operator", "row", link)
    assert call(client, "POST", f"{one}/acknowledge")["standing"] == "acknowledged"
    until = (timezone.now() + timedelta(hours=1)).isoformat()
    put_off = call(client, "POST", f"{one}/snooze", until=until, above=5)
    assert (put_off["standing"], put_off["snoozed_above"]) == ("snoozed", 5)
    assert call(client, "POST", f"{one}/reopen")["standing"] == "new"
    assert call(client, "GET", one)["note"] == "row"


def test_what_cannot_be_said_is_refused(sign_in: SignIn, letter: Letter) -> None:
    client, one = sign_in("operator"), f"{EVERY}/{letter.fingerprint}"

    wrong = call(client, "PUT", f"{one}/description", 400, ticket="javascript:x")
    assert wrong["code"] == "invalid-ticket"
    long_ago = timezone.now().isoformat()
    late = call(client, "POST", f"{one}/snooze", 400, until=long_ago)
    assert late["code"] == "invalid-snooze"
    unknown = call(client, "PUT", f"{one}/description", 422, owner="nobody")
    assert unknown["errors"][0]["where"][-1] == "owner"
    none = call(client, "POST", f"{EVERY}/{'0' * 12}/acknowledge", 404)
    assert none["code"] == "no-such-group"
    assert not DeadLetterGroup.objects.exists()


def test_who_may_not_says_nothing_and_sees_nothing(
    client: Client, letter: Letter
) -> None:
    one = f"{EVERY}/{letter.fingerprint}"
    client.force_login(make_user("vera", permissions=tuple(roles.ROLES["viewer"])))
    assert call(client, "POST", f"{one}/acknowledge", 403)["code"] == "not-permitted"
    everything = tuple(roles.ROLES["operator"])
    client.force_login(make_user("omar", permissions=everything, granted=()))

    assert call(client, "GET", EVERY)["groups"] == []
    assert call(client, "GET", one, 404)["code"] == "no-such-group"
    assert call(client, "POST", f"{one}/acknowledge", 404)
    assert not DeadLetterGroup.objects.exists()
