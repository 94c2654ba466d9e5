"""Bridges over REST: what they are, how they do, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from broker.bridges import secrets
from broker.bridges.config.kinds import KINDS
from broker.declarations import ObjectKind
from broker.models import (
    AuditRecord,
    ConnectionFactory,
    Link,
    LinkStatus,
)
from tests.broker.bridges.config.jmsbridge_documents import DOCUMENT
from tests.console.bridges.api_bridge_acts import AT, LINK, make_bridge

BRIDGES = "/api/v1/bridges"
IMPORT = "/api/v1/bridge-document"


def put(client: Client, at: str, **said: Any) -> Any:
    return client.put(f"{AT}{at}", said, content_type="application/json")


def post(client: Client, url: str, **said: Any) -> Any:
    return client.post(url, said, content_type="application/json")


def test_a_bridge_is_defined_part_by_part_and_told(ada: Client) -> None:
    put(ada, "", description="shops", tag_messages=True)
    put(ada, "/connection-factories/here", provider="this-broker")
    made = put(
        *(ada, "/connection-factories/shop"),
        provider="amqp",
        url="amqp://shop.test",
        username="till",
        password="s3same",
        properties={"heartbeat": "10"},
    )
    put(ada, "/destinations/orders", name="shop.orders", kind="topic")
    put(ada, "/destinations/inbox", name="inbox")
    put(ada, "/dead-message-queues/dmq", factory="here", destination="inbox")
    said = LINK | {"source_factory": "shop", "target_factory": "here"}
    link = put(ada, "/links/in", **said | {"target": "inbox", "batch": 10})

    assert made.status_code == link.status_code == 200, link.content
    assert (made.json()["has_password"], made.json()["name"]) == (True, "shop")
    assert "password" not in {*made.json()}
    assert link.json()["source"] == "orders"
    assert link.json()["batch"] == 10
    (bridge,) = ada.get(BRIDGES).json()["bridges"]
    assert bridge == ada.get(AT).json()
    (told,) = bridge["links"]
    assert told["state"] == "UNINITIALIZED"
    assert (told["source"], told["target"]) == ("topic:shop.orders", "queue:inbox")
    assert told["counts"]["sent"] == 0
    definition = ada.get(f"{AT}/links/in/definition").json()
    assert {**definition, "warnings": []} == link.json()
    assert ada.get(f"{AT}/definition").json()["tag_messages"] is True


@pytest.mark.parametrize(
    ("password", "kept"), [(None, "s3same"), ("", ""), ("n3w", "n3w")]
)
def test_a_password_is_kept_changed_or_taken_away_and_never_told(
    ada: Client, password: str | None, kept: str
) -> None:
    said = {"provider": "amqp", "url": "amqp://shop.test"}
    put(ada, "")
    put(ada, "/connection-factories/shop", **said, password="s3same")

    put(ada, "/connection-factories/shop", **said, password=password)

    stored = ConnectionFactory.objects.get()
    assert secrets.decrypt(stored.secret, factory="shop") == kept
    answers = [
        ada.get(f"{AT}/connection-factories/shop").content.decode(),
        ada.get(f"{AT}/document").content.decode(),
        "".join(one.detail for one in AuditRecord.objects.all()),
    ]
    for text in answers:
        assert "s3same" not in text
        assert "n3w" not in text
        assert "gAAAA" not in text  # as what is encrypted begins


def test_a_link_is_ordered_and_refuses_in_words(ada: Client) -> None:
    make_bridge("STARTED")

    paused = post(ada, f"{AT}/links/out/pause", reason="the shop moves")
    LinkStatus.objects.update(state="STOPPED", wanted="STOPPED")
    refused = post(ada, f"{AT}/links/out/pause")

    assert paused.json()["state"] == "PAUSING"
    assert paused.json()["wanted"] == "PAUSED"
    assert paused.json()["counts"]["sent"] == 7
    assert (
        AuditRecord.objects.get(act="link.pause", outcome="done").reason
        == "the shop moves"
    )
    assert refused.status_code == 409
    assert refused.json()["code"] == "link-command-refused"
    assert refused.json()["detail"] == (
        "The link 'bridge/out' cannot pause: it is stopped. Start it first."
    )


def test_what_is_wrong_is_told_and_not_saved(ada: Client) -> None:
    make_bridge("STOPPED")
    put(ada, "/connection-factories/kombu", provider="kombu", url="redis://r.test")

    answer = put(ada, "/links/out", **LINK | {"target_factory": "kombu"}, selector="=")

    assert answer.status_code == 422
    assert answer.json()["code"] == "wrong-bridge"
    what = [one["what"] for one in answer.json()["errors"]]
    assert "has no transactions." in what[0]
    assert what[1].startswith("Link 'out': The selector is wrong at character 1")
    assert Link.objects.get().target_factory.name == "to"


@pytest.mark.parametrize(
    ("url", "said", "status", "code"),
    [
        ("/links/none/start", {}, 404, "no-such-link"),
        ("/links/out/start", {"reason": "\0"}, 422, "invalid-request"),
    ],
)
def test_orders_that_nobody_can_carry_out(
    ada: Client, url: str, said: dict[str, str], status: int, code: str
) -> None:
    make_bridge()
    answer = post(ada, f"{AT}{url}", **said)
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_what_is_not_there_is_named(ada: Client) -> None:
    make_bridge("STOPPED")

    unknown = put(ada, "/links/out", **LINK | {"source": "nowhere"})
    missing = ada.get(f"{AT}/connection-factories/nobody")
    nowhere = ada.get(f"{BRIDGES}/nobody")

    assert unknown.status_code == missing.status_code == nowhere.status_code == 404
    assert unknown.json()["detail"] == (
        "The bridge 'bridge' has no destination 'nowhere'. Create it, or correct the"
        " name."
    )
    assert missing.json()["code"] == "not-found"
    assert nowhere.json()["code"] == "no-such-bridge"


def test_what_is_needed_is_not_deleted(ada: Client) -> None:
    make_bridge("STARTED")

    used = ada.delete(f"{AT}/connection-factories/from")
    running = ada.delete(AT)

    assert (used.status_code, running.status_code) == (409, 409)
    assert "The link 'out' uses it." in used.json()["detail"]
    assert "it is running. Stop it first." in running.json()["detail"]
    LinkStatus.objects.update(state="STOPPED")
    assert ada.delete(AT).status_code == 200
    assert ada.get(BRIDGES).json() == {"bridges": []}


def test_a_document_is_previewed_applied_and_exported(ada: Client) -> None:
    seen = post(ada, IMPORT, document=DOCUMENT).json()
    assert (seen["applied"], seen["bridge"]) == (False, "shops")
    assert {one["deed"] for one in seen["changes"]} == {"added"}
    assert "Choose the provider of 'mq'" in seen["left_open"][0]["what"]
    assert "s3same" not in str(seen)

    done = post(ada, IMPORT, document=DOCUMENT, apply=True, token=seen["token"])
    again = post(ada, IMPORT, document=DOCUMENT, apply=True, token=seen["token"])

    assert done.json()["applied"] is True
    assert (again.status_code, again.json()["code"]) == (409, "settings-changed")
    exported = ada.get(f"{BRIDGES}/shops/document").json()["document"]
    assert "s3same" not in exported
    back = post(ada, IMPORT, document=exported, mode="replace").json()
    assert {one["deed"] for one in back["changes"]} == {"unchanged"}


def test_a_document_that_is_wrong_is_refused(ada: Client) -> None:
    answer = post(ada, IMPORT, document="<jmsbridge/>", apply=True)

    assert (answer.status_code, answer.json()["code"]) == (400, "wrong-settings")
    assert "It needs the attribute 'name'." in answer.json()["detail"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_each_field_can_be_defined(kind: ObjectKind) -> None:
    named = {"id", "key", "bridge", "secret", *kind.keys}
    fields = {one.name for one in kind.model._meta.fields} - named

    assert {*kind.attributes} - {"password"} == fields
