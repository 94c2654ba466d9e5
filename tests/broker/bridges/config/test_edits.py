"""What is changed one by one is refused in sentences, audited, and breaks no other."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography.fernet import Fernet
from django.utils import timezone
from pytest_django import Settings

from broker.bridges import secrets
from broker.bridges.config import edits
from broker.bridges.config.faults import Part
from broker.bridges.config.kinds import KINDS
from broker.declarations import apply, documents, plan
from broker.errors.bridges import SecretsLost, WrongBridge
from broker.errors.settings import ObjectInUse
from broker.models import (
    AuditRecord,
    Branch,
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    Link,
    LinkStatus,
)
from tests.broker.auditing import detail
from tests.broker.bridges.making import factory, stored_link, stored_queue

pytestmark = pytest.mark.django_db


def refused(part: object) -> str:
    with pytest.raises(WrongBridge) as refusal:
        edits.save(part)  # type: ignore[arg-type]
    return str(refusal.value)


def test_what_is_saved_is_audited_and_its_password_is_not_in_it() -> None:
    edits.save(bridge := Bridge(name="bridge"))
    made = factory(bridge, "mq", "amqp", username="shop")

    edits.save(made, password="s3same")
    assert detail()["changed"]["secret"] == {"after": "not shown"}
    edits.save(made, password="n3w")
    assert detail()["changed"] == {
        "secret": {"before": "not shown", "after": "not shown"}
    }
    edits.save(made)

    assert secrets.decrypt(made.secret, factory="mq") == "n3w"
    acts = AuditRecord.objects.order_by("pk").values_list("act", flat=True)
    assert list(acts) == ["settings.create", "settings.create", "settings.change"]
    stored = "".join(one.detail for one in AuditRecord.objects.all())
    assert "s3same" not in stored
    assert "n3w" not in stored
    assert made.secret not in stored


def test_a_name_is_taken_once_in_a_bridge() -> None:
    link = stored_link()

    said = refused(factory(link.bridge, "from"))
    edits.save(factory(Bridge.objects.create(name="other"), "from"))

    assert said == (
        "There is a connection factory 'from' already. Choose another name."
    )


@pytest.mark.spec("BRIDGE-1")
def test_a_factory_is_not_changed_under_a_link_that_needs_it() -> None:
    link = stored_link()
    to = link.target_factory
    to.provider, to.url = "rabbitmq", "amqp://rabbit.test"

    assert refused(to).startswith("Link 'out': It is transacted, but RabbitMQ")

    Link.objects.update(enabled=False)  # nothing runs it, and a start looks again
    edits.save(to)


def test_dead_messages_do_not_come_to_go_round_by_a_change() -> None:
    link, queue = stored_link(source="this-broker"), stored_queue()
    dead = BridgeDestination.objects.get(ref_name="dead")
    dead.name = link.source.name
    queue.destination = link.source

    assert "is the source of the link 'out'" in refused(dead)
    assert "is the source of the link 'out'" in refused(queue)

    link.source = BridgeDestination.objects.get(ref_name="dead")
    assert refused(link).startswith("Dead message queue 'dmq': 'dead' is the source")


def delete(part: Part) -> None:
    (kind,) = (one for one in KINDS if one.model is type(part))
    table = ".".join((kind.plural, *kind.key_of(part)))
    found, _ = documents.read(f"[{table}]\nabsent = true\n", KINDS)
    apply(plan(found))


def test_what_is_used_is_not_deleted_and_a_whole_bridge_is() -> None:
    link = stored_link()
    stored_queue()

    with pytest.raises(
        ObjectInUse, match=r"The link 'out' uses it\. Change or delete that first\."
    ):
        delete(link.source_factory)
    delete(link.bridge)
    assert not ConnectionFactory.objects.exists()
    assert AuditRecord.objects.get().act == "settings.delete"


@pytest.mark.parametrize(
    "state", ["STARTING", "STARTED", "PAUSING", "PAUSED", "STOPPING"]
)
def test_a_link_that_is_not_at_rest_is_not_deleted(state: str) -> None:
    link = stored_link()
    LinkStatus.objects.create(link=link, state=state)

    for part in (link, link.bridge):
        with pytest.raises(ObjectInUse, match="Stop it first"):
            delete(part)

    LinkStatus.objects.update(state="STOPPED")
    delete(Link.objects.get())


@pytest.mark.spec("BRIDGE-21")
def test_a_link_with_transactions_in_doubt_is_not_deleted() -> None:
    link = stored_link()
    began = timezone.now() - timedelta(days=1)
    Branch.objects.create(
        xid="x", link=link, kind="prepared", messages=1, began_at=began
    )

    with pytest.raises(ObjectInUse, match="1 transaction whose end is not known"):
        delete(link)


def test_keys_are_changed_by_encrypting_anew(settings: Settings) -> None:
    old, new = (Fernet.generate_key().decode() for _ in range(2))
    settings.BACKOUT_SECRET_KEYS = [old]
    edits.save(bridge := Bridge(name="bridge"))
    edits.save(factory(bridge, "mq", "amqp", username="shop"), password="s3same")

    settings.BACKOUT_SECRET_KEYS = [new, old]
    assert secrets.rekey() == 1
    settings.BACKOUT_SECRET_KEYS = [new]
    secrets.check_all()
    kept = ConnectionFactory.objects.get()
    assert secrets.decrypt(kept.secret, factory="mq") == "s3same"
    assert detail() == {"encrypted": 1}

    settings.BACKOUT_SECRET_KEYS = [old]
    with pytest.raises(SecretsLost) as refusal:
        secrets.rekey()
    assert "cannot be decrypted: bridge: mq. They were encrypted with a key" in str(
        refusal.value
    )
    assert ConnectionFactory.objects.get().secret == kept.secret
