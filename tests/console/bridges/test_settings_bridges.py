"""Bridges under Settings: what is typed is kept, or refused in words; nothing is shown
of a password."""

from __future__ import annotations

import pytest
from django.db.models import Model
from django.test import Client
from pytest_django import Settings

from broker.bridges import secrets
from broker.models import (
    AuditRecord,
    Branch,
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
    LinkStatus,
)
from tests.broker.auditing import detail
from tests.broker.bridges.config.jmsbridge_documents import DOCUMENT
from tests.broker.bridges.making import stored_link
from tests.console.bridges.api_bridge_acts import make_bridge
from tests.console.configuration.settings_forms import page, send
from tests.console.messages.test_messages import words
from tests.console.recorded import deeds
from tests.make import NOON, make_user

FACTORIES = "/admin/broker/connectionfactory/"
IMPORT = "/admin/broker/bridge/import/"


@pytest.fixture
def bridge(db: None) -> Bridge:
    return Bridge.objects.create(name="shops")


def test_a_bridge_is_made_part_by_part(ada: Client) -> None:
    send(ada, page(Bridge, "add"), name="shops", tag_messages="on")
    of = Bridge.objects.get()
    send(
        ada,
        page(ConnectionFactory, "add"),
        bridge=of.pk,
        name="here",
        provider="this-broker",
    )
    shop = {"provider": "amqp", "url": "amqp://shop.test", "username": "till"}
    send(
        ada,
        page(ConnectionFactory, "add"),
        bridge=of.pk,
        name="shop",
        **shop,
        password="s3same",
        properties='{"heartbeat": "10"}',
    )
    for name in ("orders", "bills", "dead"):
        send(
            ada,
            page(BridgeDestination, "add"),
            bridge=of.pk,
            ref_name=name,
            name=f"q.{name}",
        )
    ids = {one.name: one.pk for one in ConnectionFactory.objects.all()}
    ids |= {one.ref_name: one.pk for one in BridgeDestination.objects.all()}
    send(
        ada,
        page(DeadMessageQueue, "add"),
        bridge=of.pk,
        name="dmq",
        factory=ids["here"],
        destination=ids["dead"],
    )
    send(
        ada,
        page(Link, "add"),
        bridge=of.pk,
        name="out",
        source_factory=ids["here"],
        source=ids["orders"],
        target_factory=ids["shop"],
        target=ids["bills"],
    )

    link = Link.objects.get()
    assert (link.enabled, link.transacted, link.batch) == (True, True, 100)
    factory = link.target_factory
    assert factory.properties == {"heartbeat": "10"}
    assert secrets.decrypt(factory.secret, factory="shop") == "s3same"
    assert {one.act for one in deeds()} == {"settings.create"}
    said = words(ada.get("/admin/broker/link/").content.decode())
    assert "not started yet here: queue:q.orders shop: queue:q.bills" in said


def test_a_password_is_typed_kept_taken_away_and_never_shown(
    ada: Client, bridge: Bridge
) -> None:
    shop = {"provider": "amqp", "url": "amqp://shop.test", "password": "s3same"}
    send(ada, page(ConnectionFactory, "add"), bridge=bridge.pk, name="shop", **shop)
    stored = ConnectionFactory.objects.get()

    send(ada, page(stored, "change"), url="amqp://other.test")
    assert "secret" not in detail()["changed"]
    pages = [
        FACTORIES,
        page(stored, "change"),
        f"/admin/broker/bridge/{bridge.pk}/export/",
    ]
    for path in pages:
        text = ada.get(path).content.decode()
        assert "s3same" not in text
        assert stored.secret not in text
    send(ada, page(stored, "change"), password="n3w")
    changed = detail()["changed"]
    assert changed == {"secret": {"before": "not shown", "after": "not shown"}}
    stored.refresh_from_db()
    assert secrets.decrypt(stored.secret, factory="shop") == "n3w"

    both = send(ada, page(stored, "change"), password="x", no_password="on")
    assert "Give a password, or take it away." in both
    send(ada, page(stored, "change"), no_password="on")
    stored.refresh_from_db()
    assert stored.secret == ""
    audit = "".join(one.detail for one in AuditRecord.objects.all())
    assert "s3same" not in audit
    assert "n3w" not in audit


@pytest.mark.spec("BRIDGE-17")
@pytest.mark.parametrize(
    ("model", "typed", "sentence"),
    [
        (Bridge, {"name": "built-in-dmq"}, "is reserved for the bridge itself."),
        (ConnectionFactory, {"name": "f"}, "This field is required."),
        (
            ConnectionFactory,
            {"name": "f", "provider": "stomp", "url": "shop.test"},
            "is not a URL for STOMP (ActiveMQ, Artemis, RabbitMQ). Write it like this:",
        ),
        (
            ConnectionFactory,
            {"name": "f", "provider": "this-broker", "username": "till"},
            "It has a username but no password. Enter both, or neither.",
        ),
        (
            ConnectionFactory,
            {"name": "f", "provider": "this-broker", "properties": '{"password": "x"}'},
            "would not be secret: properties are not encrypted.",
        ),
        (
            BridgeDestination,
            {"ref_name": "d", "name": "imq.bridge.jms.dmq"},
            "is the built-in dead message queue of each bridge.",
        ),
        (BridgeDestination, {"ref_name": "AS_SOURCE", "name": "x"}, "is reserved for"),
        (
            BridgeDestination,
            {"ref_name": "d", "name": "x", "properties": "[1]"},
            "Properties must map names to texts",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    ada: Client,
    bridge: Bridge,
    model: type[Model],
    typed: dict[str, str],
    sentence: str,
) -> None:
    more = {} if model is Bridge else {"bridge": bridge.pk}

    said = send(ada, page(model, "add"), **more, **typed)

    assert sentence in said
    assert model._default_manager.count() == (model is Bridge)


@pytest.mark.spec("BRIDGE-1")
def test_a_link_that_cannot_be_is_refused_at_its_field(ada: Client) -> None:
    link = make_bridge("STOPPED")
    other = Bridge.objects.create(name="other")
    foreign = ConnectionFactory.objects.create(
        bridge=other, name="kombu", provider="kombu", url="redis://redis.test"
    )

    said = send(
        *(ada, page(link, "change")),
        target_factory=foreign.pk,
        selector="colour = ",
        durable_name="x",
    )

    assert "belongs to another bridge. Choose one that belongs to this bridge." in said
    assert "has no transactions." in said
    assert "The selector is wrong at character" in said
    assert "Only a subscription to a topic can be durable" in said
    link.refresh_from_db()
    assert link.selector == ""


def test_a_factory_says_which_link_its_change_would_break(ada: Client) -> None:
    link = make_bridge("STOPPED")

    said = send(
        ada, page(link.target_factory, "change"), provider="kombu", url="redis://r.test"
    )

    assert "Link 'out': It is transacted, but whatever else kombu reaches" in said


@pytest.mark.spec("BRIDGE-21")
def test_what_is_needed_is_not_deleted(ada: Client) -> None:
    link = make_bridge("STARTED")
    Branch.objects.create(
        xid="x", link=link, kind="prepared", messages=2, began_at=NOON
    )

    for part in (link, link.bridge, link.source_factory, link.source):
        path = page(part, "delete")
        said = words(ada.get(path).content.decode())
        assert "cannot be deleted" in said.lower() or "would require" in said, said
        ada.post(path, {"post": "yes"})
    said = words(ada.get(page(link, "delete")).content.decode())
    assert "it is running. Stop it first." in said
    assert "1 transaction whose end is not known." in said
    assert Link.objects.exists()

    Branch.objects.all().delete()
    LinkStatus.objects.update(state="STOPPED")
    ada.post(page(link.bridge, "delete"), {"post": "yes"})
    assert not ConnectionFactory.objects.exists()


def try_out(client: Client, *factories: ConnectionFactory) -> list[str]:
    chosen = [one.pk for one in factories]
    said = {"action": "try_connection", "_selected_action": chosen}
    answer = client.post(FACTORIES, said, follow=True)
    return [f"{one.level_tag}: {one}" for one in answer.context["messages"]]


def test_a_connection_is_tried_and_what_happened_is_said(
    ada: Client, settings: Settings
) -> None:
    link = stored_link()
    away = link.target_factory
    away.secret = "lost"
    away.save()

    here, lost = try_out(ada, link.source_factory, away)
    away.url, away.secret = "shop.test", ""
    away.save()
    (wrong,) = try_out(ada, away)

    assert here.endswith(
        "from: this broker is this process itself. No connection is needed."
    )
    assert here.startswith("success")
    assert lost.startswith("error: The passwords of these connection factories cannot")
    assert wrong.startswith("error: bridge: to: 'shop.test' is not a URL for AMQP 1.0")


def test_nobody_who_answers_is_said_in_a_sentence(ada: Client) -> None:
    away = stored_link(target="stomp").target_factory
    away.url = "stomp://127.0.0.1:9"  # the port of discard, where nobody listens
    away.save()

    (said,) = try_out(ada, away)

    assert said.startswith("error: to: 127.0.0.1:9 does not answer")


def test_a_document_is_previewed_and_its_password_is_not_in_the_page(
    ada: Client,
) -> None:
    answer = ada.post(IMPORT, {"text": DOCUMENT, "mode": "merge"})
    page_ = answer.content.decode()

    said = words(page_)
    assert "The bridge shops. Mode: merge. 13 added, 0 changed" in said
    assert "Choose the provider of 'mq', and enter its URL." in said
    assert "Connection factory shop: added" in said
    assert "password not defined new" in said
    assert "s3same" not in page_
    assert not Bridge.objects.exists()

    again = answer.context["again"].initial
    done = ada.post(IMPORT, again | {"apply": "yes"}, follow=True)
    assert "Imported shops: 13 added" in words(done.content.decode())
    shop = ConnectionFactory.objects.get(name="shop")
    assert secrets.decrypt(shop.secret, factory="shop") == "s3same"

    twice = ada.post(IMPORT, again | {"apply": "yes"}, follow=True)
    assert "The bridges have changed since this preview" in words(
        twice.content.decode()
    )


def test_an_export_is_a_file_that_changes_nothing(ada: Client) -> None:
    again = ada.post(IMPORT, {"text": DOCUMENT, "mode": "merge"}).context["again"]
    ada.post(IMPORT, again.initial | {"apply": "yes"})
    shops = Bridge.objects.get()
    assert f"{shops.pk}/export/" in ada.get(page(shops, "change")).content.decode()

    answer = ada.get(f"/admin/broker/bridge/{shops.pk}/export/")

    assert answer["Content-Type"].startswith("application/xml")
    assert "jmsbridge.xml" in answer["Content-Disposition"]
    text = answer.content.decode()
    said = words(ada.post(IMPORT, {"text": text, "mode": "replace"}).content.decode())
    assert "13 unchanged" in said
    assert "There is nothing to do." in said


def test_a_document_that_is_wrong_is_refused_at_the_form(ada: Client) -> None:
    text = DOCUMENT.replace("colour = ", "= ")

    said = words(ada.post(IMPORT, {"text": text, "mode": "merge"}).content.decode())

    assert "Nothing was imported. Link 'orders-in': The selector is wrong" in said


def test_exchange_needs_permissions(client: Client, bridge: Bridge) -> None:
    vera = make_user("vera", permissions=("broker.view_bridge",))
    vera.is_staff = True
    vera.save()
    client.force_login(vera)

    assert client.get(IMPORT).status_code == 403
    assert client.get(f"/admin/broker/bridge/{bridge.pk}/export/").status_code == 403
    assert IMPORT not in client.get("/admin/broker/bridge/").content.decode()
