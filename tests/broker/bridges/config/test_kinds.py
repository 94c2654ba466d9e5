"""Bridges and their parts as declarations: planned, made, and written again."""

from __future__ import annotations

import pytest

from broker.bridges import secrets
from broker.bridges.config.kinds import FACTORY, KINDS
from broker.declarations import apply, export, plan, read
from broker.errors.bridges import NoSuchBridge, NoSuchPart, WrongBridge
from broker.errors.settings import ObjectInUse
from broker.models import Act, AuditRecord, Bridge, ConnectionFactory, Link

pytestmark = pytest.mark.django_db
DOCUMENT = """\
[bridges.shops]
description = "the shops"

[connection_factories.shops.here]
provider = "this-broker"

[connection_factories.shops.mq]
provider = "stomp"
url = "stomp://mq.test:61613"
properties = {"heart beat" = "10"}

[destinations.shops.orders]
name = "orders"

[links.shops.out]
source_factory = "here"
source = "orders"
target_factory = "mq"
target = "orders"

[dead_message_queues.shops.dmq]
factory = "mq"
destination = "orders"
send_interval = "9 s"
"""
WITH_PASSWORD = '[connection_factories.shops.mq]\npassword = "{}"\n'


def make(text: str) -> list[str]:
    """Apply a document, and return its changes."""
    wanted = plan(read(text, KINDS)[0])
    apply(wanted)
    return [str(one) for one in wanted.changes]


def test_a_bridge_is_made_as_declared_once_and_written_again() -> None:
    first, again = make(DOCUMENT), make(DOCUMENT)

    assert len(first) == 6
    assert again == []
    assert export(KINDS) == DOCUMENT
    assert AuditRecord.objects.filter(act=Act.CREATE).count() == 6


def test_a_password_is_set_and_never_written() -> None:
    make(DOCUMENT)

    wanted = plan(read(WITH_PASSWORD.format("s3same"), KINDS)[0])
    first = make(WITH_PASSWORD.format("s3same"))
    again = make(WITH_PASSWORD.format("s3same"))

    assert "s3same" not in repr(wanted.changes[0].differences)
    assert (len(first), again) == (1, [])
    row = ConnectionFactory.objects.get(name="mq")
    assert secrets.decrypt(row.secret, factory="mq") == "s3same"
    assert FACTORY.describe(row)["has_password"] is True
    assert export(KINDS) == DOCUMENT
    assert "s3same" not in "".join(one.detail for one in AuditRecord.objects.all())
    make('[connection_factories.shops.mq]\nunset = ["password"]\n')
    assert ConnectionFactory.objects.get(name="mq").secret == ""


def test_what_is_named_and_nowhere_is_refused() -> None:
    with pytest.raises(NoSuchBridge):
        make('[destinations.nowhere.orders]\nname = "orders"\n')
    make(DOCUMENT)
    with pytest.raises(NoSuchPart, match="no destination 'bills'"):
        make('[links.shops.out]\ntarget = "bills"\n')
    with pytest.raises(WrongBridge, match="Choose a connection factory"):
        make('[links.shops.in]\nsource = "orders"\n')
    assert Link.objects.get().target is not None


def test_what_is_used_goes_only_with_what_uses_it() -> None:
    make(DOCUMENT)
    gone = "[connection_factories.shops.mq]\nabsent = true\n"

    with pytest.raises(ObjectInUse, match="The link 'out' uses it"):
        make(gone)
    users = ("links.shops.out", "dead_message_queues.shops.dmq")
    make(gone + "".join(f"[{one}]\nabsent = true\n" for one in users))

    assert not Link.objects.exists()
    assert [one.name for one in ConnectionFactory.objects.all()] == ["here"]
    make("[bridges.shops]\nabsent = true\n")
    assert not Bridge.objects.exists()
