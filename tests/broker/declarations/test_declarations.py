"""What is declared is compared with what is stored, and made so."""

from __future__ import annotations

import pytest

from broker.client import declare_queue, put, unit_of_work
from broker.config.imports import Difference
from broker.declarations import (
    Declaration,
    apply,
    declare,
    every_kind,
    export,
    plan,
    read,
    version,
)
from broker.declarations.kinds import ADDRESS, QUEUE, SETTING
from broker.errors.queues import QueueNotEmpty
from broker.errors.settings import (
    ChangedSinceRead,
    ObjectInUse,
    SettingsChanged,
    WrongSettings,
)
from broker.models import (
    Act,
    Address,
    AddressSetting,
    AuditRecord,
    Authority,
    Discarded,
    Event,
    Kind,
    Queue,
    QueueAlias,
)
from broker.queueing.put import put_many
from broker.settlement import discards
from tests.make import make_messages, make_queue, make_setting, make_user

DOCUMENT = """
[queues.orders]
max_depth = 5000
max_message_bytes = "2 MB"
backout_threshold = 3
backout_queue = "orders.BOQ"

[queues."orders.BOQ"]
[queues.DLQ]
routing-type = "multicast"

[aliases]
"OLD.ORDERS" = "orders"

[settings."#"]
dead_letter_address = "DLQ"
redelivery_delay = "1 min 30 s"
expiry_delay_ms = 250

[authorities."group:viewer"]
"orders.#" = ["put", "get"]
"""

pytestmark = pytest.mark.django_db


def changes(text: str, **how: object) -> list[str]:
    """What a document would change, in words."""
    return list(map(str, plan(read(text)[0], **how).changes))  # type: ignore[arg-type]


def make(text: str) -> None:
    apply(plan(read(text)[0]))


def test_a_document_is_planned_applied_and_then_changes_nothing() -> None:
    assert changes(DOCUMENT) == [
        *("create address DLQ", "create address orders", "create address orders.BOQ"),
        *("create queue orders", "create queue orders.BOQ", "create queue DLQ"),
        *("create alias OLD.ORDERS", "create setting #"),
        "create authority group:viewer orders.#",
    ]
    assert not Queue.objects.exists()

    make(DOCUMENT)

    assert changes(DOCUMENT) == []
    orders = Queue.objects.get(name="orders")
    assert (orders.max_depth, orders.max_message_bytes) == (5000, 2_000_000)
    rule = AddressSetting.objects.get(match="#")
    assert (rule.redelivery_delay_ms, rule.expiry_delay_ms) == (90_000, 250)
    assert QueueAlias.objects.get().target == "orders"
    row = Authority.objects.get(pattern="orders.#")
    assert (row.may_put, row.may_get, row.may_browse) == (True, True, False)
    acts = set(AuditRecord.objects.values_list("act", "object_kind", "object_name"))
    assert (Act.CREATE, "queue", "orders") in acts
    assert len(acts) == 9


def test_a_change_names_each_attribute_before_and_after() -> None:
    make(DOCUMENT)
    text = '[queues.orders]\nmax_depth = 10\nunset = ["backout_threshold"]'

    (change,) = plan(read(text)[0]).changes
    make(text)

    assert list(change.differences) == [
        Difference("max_depth", 5000, 10),
        Difference("backout_threshold", 3, 0),
    ]
    record = AuditRecord.objects.latest("pk")
    assert record.details["changed"] == {
        "max_depth": {"before": 5000, "after": 10},
        "backout_threshold": {"before": 3, "after": 0},
    }
    stored = Queue.objects.get(name="orders")
    assert (stored.backout_queue, stored.max_depth) == ("orders.BOQ", 10)


def test_what_is_exported_changes_nothing_and_makes_the_same_elsewhere() -> None:
    make(DOCUMENT)
    make_queue("AMQ.1", kind=Queue.Kind.TEMPORARY)
    make_queue("later", auto_created=True)
    text = export()

    assert changes(text, prune=every_kind()) == []
    assert "AMQ.1" not in text
    assert "[queues.later]" not in text
    for model in (Authority, AddressSetting, QueueAlias, Queue, Address):
        model._default_manager.all().delete()
    make(text)
    assert export() == text


def test_only_what_is_named_is_deleted_unless_the_rest_is_pruned() -> None:
    make_queue("orders")
    make_queue("old")
    make_setting("old.#")
    text = "[addresses]\n[queues.orders]\n"

    assert changes(text) == []
    _, kinds = read(text)
    assert changes(text, prune=kinds) == ["delete queue old", "delete address old"]
    assert changes("[queues.old]\nabsent = true") == [
        "delete queue old",
        "delete address old",
    ]
    make("[queues.old]\nabsent = true")
    assert [one.name for one in Queue.objects.all()] == ["orders"]
    assert AddressSetting.objects.exists()


def test_an_address_stays_while_something_needs_it() -> None:
    make_queue("orders")
    make_queue("copy", address="orders")

    assert changes("[queues.orders]\nabsent = true") == ["delete queue orders"]
    moved = '[queues.orders]\nabsent = true\n[queues.other]\naddress = "orders"'
    assert changes(moved) == ["create queue other", "delete queue orders"]
    with pytest.raises(ObjectInUse, match="feeds copy, orders"):
        changes("[addresses.orders]\nabsent = true")


def test_a_queue_that_holds_messages_is_deleted_by_the_word_only() -> None:
    make_queue("orders")
    put_many(make_messages(1002))
    going = Declaration(QUEUE, ("orders",), absent=True)

    (first, _) = plan([going]).changes
    assert first.messages == 1002
    with pytest.raises(QueueNotEmpty, match="holds 1,002 messages"):
        apply(plan([going]))
    assert Queue.objects.exists()

    purged = Declaration(QUEUE, ("orders",), absent=True, purge=True)
    apply(plan([purged]), actor="ada")

    assert not Queue.objects.exists()
    assert not Address.objects.exists()
    assert Discarded.objects.count() == 1002
    events = Event.objects.filter(kind=Kind.REMOVE)
    assert sum(one.n for one in events) == 1002
    assert {one.actor for one in events} == {"ada"}
    record = AuditRecord.objects.get(object_kind="queue", act=Act.DELETE)
    assert record.details["discarded"] == 1002


def test_what_was_purged_is_restored_to_the_queue_of_that_name() -> None:
    old = make_queue("orders")
    message_id = put("orders", b"7").message_id
    apply(plan([Declaration(QUEUE, ("orders",), absent=True, purge=True)]))
    declare_queue("orders")

    discards.restore(message_id, old.pk)

    with unit_of_work() as work:
        (got,) = work.get("orders")
    assert (got.message_id, got.body) == (message_id, b"7")


def test_messages_in_flight_are_never_purged() -> None:
    make_queue("orders")
    put_many(make_messages(2))
    going = Declaration(QUEUE, ("orders",), absent=True, purge=True)

    with unit_of_work() as work:
        work.get("orders")
        with pytest.raises(QueueNotEmpty, match="are processing 1 of them"):
            apply(plan([going]))

    assert Queue.objects.exists()


def test_a_plan_that_is_no_longer_so_is_not_applied() -> None:
    make_queue("orders")
    planned = plan([Declaration(QUEUE, ("orders",), {"max_depth": 7})])
    Queue.objects.update(max_depth=6)

    with pytest.raises(SettingsChanged, match="definitions have changed"):
        apply(planned)
    assert Queue.objects.get().max_depth == 6


def test_a_change_can_require_the_version_that_was_read() -> None:
    queue = make_queue("orders")
    seen = version(QUEUE, queue)
    change = [Declaration(QUEUE, ("orders",), {"max_depth": 7})]

    with pytest.raises(ChangedSinceRead):
        apply(plan(change), expected="")
    apply(plan(change), expected=seen)
    with pytest.raises(ChangedSinceRead):
        apply(plan(change), expected=seen)


def test_declaring_an_auto_created_queue_keeps_it() -> None:
    make_queue("orders", auto_created=True, selector="a = 1")

    declare_queue("orders")

    assert not Queue.objects.get().auto_created


def test_queues_of_subscriptions_and_clients_are_not_deleted() -> None:
    for number, kind in enumerate((Queue.Kind.MANAGED, Queue.Kind.TEMPORARY)):
        make_queue(f"q{number}", kind=kind)
        with pytest.raises(ObjectInUse):
            changes(f"[queues.q{number}]\nabsent = true")


def test_a_queue_is_declared_from_python_with_the_settings_of_its_address() -> None:
    wanted = {"dead_letter_address": "DLQ", "redelivery_delay": "5s", "max_depth": 9}

    orders = declare_queue("orders", **wanted)
    records = AuditRecord.objects.count()
    again = declare_queue("orders", **wanted)

    assert (again.pk, again.max_depth, again.address.name) == (orders.pk, 9, "orders")
    assert AuditRecord.objects.count() == records
    setting = AddressSetting.objects.get()
    assert (setting.match, setting.redelivery_delay_ms) == ("orders", 5000)
    assert Queue.objects.filter(name="DLQ", address__name="DLQ").exists()
    declare_queue("orders", max_depth=None)
    assert Queue.objects.get(name="orders").max_depth is None
    with pytest.raises(WrongSettings, match="no such attribute"):
        declare_queue("orders", depth=3)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[queue.orders]", "There is no such table"),
        ("[queues]\norders = 3", "It must be a table of attributes"),
        ("[queues.orders]\ndepth = 3", "There are: address, routing_type"),
        ('[queues.orders]\nmax_depth = "many"', "It must be a whole number"),
        ("[queues.orders]\nmax_depth = true", "It must be a whole number"),
        ("[queues.orders]\nmax_depth = -1", "greater than or equal to 0"),
        ('[queues.orders]\nrouting_type = "any"', "one of multicast, anycast"),
        ('[queues.orders]\nselector = "a ="', "selector"),
        ('[queues.orders]\nrunbook = "javascript:x"', "valid URL"),
        ("[queues.orders]\nabsent = true\nmax_depth = 3", "it has no attributes"),
        ("[queues.orders]\nabsent = 1", "true or false"),
        ('[queues.orders]\nunset = ["depth"]', "no such attribute"),
        ("[settings.x]\nredelivery_delay = 5", "Give a unit"),
        ('[settings.x]\nredelivery_delay = "5 parsecs"', "is no duration"),
        ('[settings."a.#.b"]', "can only be the last word"),
        ('[settings.x]\ndead_letter_address = "x"', "its own dead letter"),
        ('[authorities.omar]\n"#" = ["put"]', "must be user:NAME or group:NAME"),
        ('[authorities."user:omar"]\n"#" = ["fly"]', "one of inquire, browse"),
        ('[queues."a\\u0007b"]', "cannot be seen"),
        ("queues = [", "This is no TOML"),
    ],
)
def test_a_wrong_document_is_refused_with_the_place(text: str, why: str) -> None:
    with pytest.raises(WrongSettings, match=why):
        changes(text)


def test_a_name_that_means_something_else_is_refused() -> None:
    make_queue("orders")
    with pytest.raises(WrongSettings, match="name of another queue"):
        changes('[aliases]\norders = "other"')
    with pytest.raises(ObjectInUse, match="There is no user 'nobody'"):
        make('[authorities."user:nobody"]\n"#" = ["put"]')
    make_user("omar")
    make('[authorities."user:omar"]\n"orders" = ["put"]')
    assert Authority.objects.filter(user__username="omar", pattern="orders").exists()


def test_each_attribute_can_be_read_as_it_is_written() -> None:
    declare([Declaration(ADDRESS, ("a b",)), Declaration(SETTING, ("#",))])
    assert changes(export()) == []
