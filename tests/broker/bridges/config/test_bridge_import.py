"""A document is looked at first, and then taken over whole, or not at all."""

from __future__ import annotations

import re

import pytest

from broker.bridges import secrets
from broker.bridges.config import bridge_import
from broker.bridges.config.bridge_import import apply, preview, read
from broker.bridges.config.documents import stored
from broker.bridges.config.jmsbridge_writing import write
from broker.errors.bridges import StillNeeded, WrongBridge
from broker.errors.settings import SettingsChanged
from broker.models import (
    AuditRecord,
    Bridge,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
    LinkStatus,
)
from tests.broker.bridges.config.jmsbridge_documents import DOCUMENT, LEAST, said

pytestmark = pytest.mark.django_db


def shops() -> Bridge:
    return Bridge.objects.get(name="shops")


def password() -> str:
    shop = ConnectionFactory.objects.get(name="shop")
    return secrets.decrypt(shop.secret, factory="shop")


@pytest.mark.spec("BRIDGE-17")
def test_a_new_bridge_is_previewed_and_then_stored_as_it_was_read() -> None:
    before = preview(read(DOCUMENT), "merge")
    assert not Bridge.objects.exists()
    assert before.counts["added"] == 13

    done = apply(read(DOCUMENT), "merge", token=before.token)

    assert done.counts == before.counts
    assert said(stored(shops())) == said(read(DOCUMENT))
    assert password() == "s3same"
    records = AuditRecord.objects.filter(act="settings.create")
    assert records.count() == 13
    assert "s3same" not in "".join(one.detail for one in records)
    assert {one.details["imported"] for one in records} == {"merge"}


@pytest.mark.parametrize("mode", bridge_import.MODES)
def test_what_was_written_out_changes_nothing(mode: bridge_import.Mode) -> None:
    apply(read(DOCUMENT), "merge")
    DeadMessageQueue.objects.update(position=0)  # they stay in the order of their ids
    records = AuditRecord.objects.count()

    again = apply(read(write(stored(shops()))), mode)

    assert not again.changes_anything
    assert AuditRecord.objects.count() == records
    assert password() == "s3same"


def test_what_differs_is_told_and_no_password_is() -> None:
    apply(read(DOCUMENT), "merge")
    text = DOCUMENT.replace("s3same", "n3w").replace('connect-attempts="3"', "")
    text = text.replace('name="shop.orders" type="topic"', 'name="orders" type="topic"')

    found = preview(read(text), "merge")
    changed = {
        one.name: {d.field: (d.before, d.after) for d in one.differences}
        for one in found.of("changed")
    }
    assert changed == {
        "shop": {"connect_attempts": (3, -1), "password": ("stored", "new")},
        "orders": {"name": ("shop.orders", "orders")},
    }
    apply(read(text), "merge", token=found.token)

    assert password() == "n3w"
    assert not preview(read(text), "merge").changes_anything


def test_a_password_goes_with_the_user_whose_it_is() -> None:
    apply(read(DOCUMENT), "merge")
    plain = DOCUMENT.replace(' password="s3same"', "")

    apply(read(plain), "merge")
    assert password() == "s3same"

    apply(read(plain.replace('username="till"', 'username="desk"')), "merge")
    assert ConnectionFactory.objects.get(name="shop").secret == ""


def test_merge_leaves_what_replace_removes() -> None:
    apply(read(DOCUMENT), "merge")
    least = LEAST.replace('jmsbridge name="b"', 'jmsbridge name="shops"')

    assert not preview(read(least), "merge").of("removed")
    gone = {
        (one.kind, one.name) for one in preview(read(least), "replace").of("removed")
    }
    assert ("link", "orders-in") in gone
    assert ("connection factory", "shop") in gone
    assert ("connection factory", "here") not in gone

    apply(read(least), "merge")
    assert shops().links.count() == 3
    apply(read(least), "replace")
    assert said(stored(shops())) == said(read(least))


@pytest.mark.spec("BRIDGE-14")
def test_dead_message_queues_are_tried_in_the_order_of_the_file() -> None:
    apply(read(DOCUMENT), "merge")
    names = list(shops().dead_queues.values_list("name", flat=True))
    first, second = re.findall(r"<dmq[^>]*/>|<dmq.*?</dmq>", DOCUMENT, re.S)
    swapped = DOCUMENT.replace(first, "").replace(second, second + first)

    apply(read(swapped), "merge")

    assert names == ["second-dead", "first-dead"]
    now = list(shops().dead_queues.values_list("name", flat=True))
    assert now == ["first-dead", "second-dead"]


def test_what_changed_since_the_preview_is_not_applied() -> None:
    apply(read(DOCUMENT), "merge")
    text = DOCUMENT.replace('value="10"/>\n      <prop', 'value="20"/>\n      <prop')
    seen = preview(read(text), "merge")
    Link.objects.filter(name="orders-in").update(batch=30)

    with pytest.raises(SettingsChanged, match="The bridges have changed since"):
        apply(read(text), "merge", token=seen.token)

    assert Link.objects.get(name="orders-in").batch == 30


def test_a_running_link_is_not_removed_and_then_nothing_is() -> None:
    apply(read(DOCUMENT), "merge")
    link = Link.objects.get(name="bills-out")
    LinkStatus.objects.create(link=link, state="PAUSED")
    least = LEAST.replace('jmsbridge name="b"', 'jmsbridge name="shops"')

    with pytest.raises(StillNeeded) as refusal:
        apply(read(least), "replace")

    assert str(refusal.value) == (
        "Link 'bills-out' cannot be deleted: it is paused. Stop it first."
    )
    assert shops().links.count() == 2


def test_all_that_is_wrong_with_a_document_is_told_at_once() -> None:
    text = DOCUMENT.replace("colour = ", "colour = = ").replace(
        'value="amqp"', 'value="kombu"'
    )

    with pytest.raises(WrongBridge) as refusal:
        read(text)

    told = str(refusal.value)
    assert "Link 'orders-in': The selector is wrong at character" in told
    assert "has no transactions. Choose a provider that has them" in told
    assert "whatever else kombu reaches (Redis, SQS, …) has no selectors" in told


def test_a_link_that_stays_is_not_made_wrong_by_what_a_document_changes() -> None:
    apply(read(LEAST), "merge")
    text = """<jmsbridge name="b"><connection-factory ref-name="here">
      <property name="backout.provider" value="amqp"/>
      <property name="backout.url" value="amqp://mq.test"/>
    </connection-factory></jmsbridge>"""

    with pytest.raises(WrongBridge, match="neither is this broker"):
        apply(read(text), "merge")

    assert ConnectionFactory.objects.get().provider == "this-broker"


def test_a_transformer_that_is_missing_disables_the_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def problem(name: str, _: object) -> str:
        return f"There is no transformer {name!r}."

    monkeypatch.setattr("broker.bridges.config.validation.transformer_problem", problem)

    document = read(DOCUMENT)

    assert {one.name: one.enabled for one in document.links} == {
        "orders-in": False,
        "bills-out": False,
    }
    assert "It is disabled until it has a transformer" in str(document.left_open)
