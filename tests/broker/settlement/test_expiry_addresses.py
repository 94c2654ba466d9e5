"""Where expired messages go: by which rules they live there, and what makes itself."""

from __future__ import annotations

from typing import Any

import pytest

from broker.models import (
    Address,
    AddressSetting,
    DeadLetter,
    Kind,
    Message,
    Queue,
    Ready,
    RoutingType,
)
from broker.monitoring import fsck
from broker.queueing import journal
from broker.queueing.put import put
from broker.settlement import expiry
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out, make_dead_letters, on, plan, start
from tests.broker.receiving import TRANSACTED, consumer, make_poison
from tests.make import NOON, make_queue, make_setting, minutes, seconds

pytestmark = pytest.mark.django_db

SOON = NOON + minutes(1)
MULTICAST = RoutingType.MULTICAST


@pytest.fixture
def late() -> Queue:
    """Where expired messages go, of orders at least."""
    make_setting("orders", expiry_address="late")
    return make_queue("late")


def expire(at: float = 60) -> int:
    """A scan so many seconds after noon."""
    return expiry.expire(limit=10, now=NOON + seconds(at))


def put_late(address: str = "orders", body: bytes = b"late") -> int:
    """A message that lives for a minute from noon; its id."""
    return put(address, body, expires_at=SOON, now=NOON).message_id


def done(queue: Queue) -> int:
    """How many expired on a queue."""
    return journal.depths()[queue.pk].done[Kind.EXPIRE]


@pytest.mark.spec("EXP-2")
@pytest.mark.parametrize(
    ("fields", "lives_s"),
    [
        ({}, None),
        ({"expiry_delay_ms": 5000}, 5),
        ({"min_expiry_delay_ms": 7000}, 7),
        ({"min_expiry_delay_ms": 7000, "max_expiry_delay_ms": 9000}, 9),
        ({"no_expiry": True, "expiry_delay_ms": 5000}, None),
    ],
)
def test_the_copy_lives_by_the_rules_of_the_expiry_address(
    orders: Queue, late: Queue, fields: dict[str, int], lives_s: int | None
) -> None:
    make_setting("late", **fields)
    put_late()
    expire(at=61)
    expires_at = None if lives_s is None else NOON + seconds(61 + lives_s)
    assert Ready.objects.get().expires_at == expires_at
    assert Message.objects.get(pk=Ready.objects.get().id).expires_at == expires_at


@pytest.mark.spec("EXP-2")
def test_a_delay_for_every_address_expires_what_expired_once_more_and_no_more(
    orders: Queue,
) -> None:
    late = make_queue("late")
    make_setting("#", expiry_address="late", expiry_delay_ms=60_000)
    put("orders", now=NOON)

    assert expire(at=60) == 1
    assert (done(orders), journal.depths()[late.pk].ready) == (1, 1)
    assert expire(at=120) == 1

    assert (done(orders), done(late)) == (1, 1)
    assert Ready.objects.count() == 0, "it does not go round for ever"
    assert expire(at=180) == 0
    assert fsck.violations() == []


@pytest.mark.spec("EXP-1")
def test_every_queue_of_the_expiry_address_whose_selector_matches_takes_a_copy(
    orders: Queue, late: Queue
) -> None:
    Queue.objects.filter(pk=late.pk).update(routing_type=MULTICAST)
    theirs = "_AMQ_ORIG_ADDRESS = 'orders'"
    make_queue("ours", address="late", routing_type=MULTICAST, selector=theirs)
    others = "_AMQ_ORIG_ADDRESS = 'invoices'"
    make_queue("others", address="late", routing_type=MULTICAST, selector=others)
    put_late()
    expire()
    (copy,) = on("late")
    assert (on("ours"), on("others")) == ([copy], [])


@pytest.mark.spec("EXP-1")
def test_what_no_selector_of_the_expiry_address_matches_is_dropped(
    orders: Queue, late: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    Queue.objects.filter(pk=late.pk).update(selector="_AMQ_ORIG_ADDRESS = 'invoices'")
    put_late()
    expire()
    assert Ready.objects.count() == 0
    assert done(orders) == 1
    assert [one for one in caplog.records if one.levelname == "WARNING"]
    assert fsck.violations() == []


@pytest.mark.spec("EXP-1")
def test_of_each_queue_the_warning_comes_once(
    orders: Queue, caplog: pytest.LogCaptureFixture
) -> None:
    invoices = make_queue("invoices")
    for _ in range(3):
        put_late("orders")
        put_late("invoices")
        expire()
    warned = [one for one in caplog.messages if "are dropped" in one]
    assert len(warned) == 2
    assert (done(orders), done(invoices)) == (3, 3)


@pytest.mark.spec("EXP-4")
def test_the_first_expired_message_makes_the_address_and_a_queue(orders: Queue) -> None:
    make_setting("orders", expiry_address="late", auto_create_expiry_resources=True)
    message_id = put_late()

    expire()

    queue = Queue.objects.get(name="EXP.orders")
    assert (queue.address.name, queue.routing_type) == ("late", MULTICAST)
    assert queue.selector == "_AMQ_ORIG_ADDRESS = 'orders'"
    assert queue.auto_created
    assert queue.address.auto_created
    (copy,) = UnitOfWork(now=SOON).get("EXP.orders")
    assert copy.properties["_AMQ_ORIG_MESSAGE_ID"] == str(message_id)
    assert fsck.violations() == []


@pytest.mark.spec("EXP-4")
def test_each_address_has_a_queue_for_what_expired_of_it_and_only_one() -> None:
    make_setting("#", expiry_address="late", auto_create_expiry_resources=True)
    for address in ("orders", "invoices", "o'clock"):
        make_queue(address)
        for _ in range(2):
            put_late(address, address.encode())
            expire()

    found = Queue.objects.filter(address__name="late").order_by("name")

    names = [queue.name for queue in found]
    assert names == ["EXP.invoices", "EXP.o'clock", "EXP.orders"]
    for name in names:
        bodies = [one.body for one in UnitOfWork(now=SOON).get(name, 9)]
        assert bodies == [name.removeprefix("EXP.").encode()] * 2


@pytest.mark.spec("EXP-4")
@pytest.mark.parametrize(
    ("fields", "name"),
    [
        (
            {"expiry_queue_prefix": "late.", "expiry_queue_suffix": ".q"},
            "late.orders.q",
        ),
        ({"expiry_queue_prefix": "", "expiry_queue_suffix": ".EXP"}, "orders.EXP"),
    ],
)
def test_prefix_and_suffix_are_as_they_are_set_also_if_empty(
    orders: Queue, fields: dict[str, str], name: str
) -> None:
    make_setting(
        "orders", expiry_address="late", auto_create_expiry_resources=True, **fields
    )
    put_late()
    expire()
    assert len(on(name)) == 1


@pytest.mark.spec("EXP-4")
def test_it_is_the_message_s_address_that_names_the_queue(orders: Queue) -> None:
    """The queue has since been given to another address, whose settings now count."""
    make_setting("shop", expiry_address="late", auto_create_expiry_resources=True)
    put_late()
    orders.address = Address.objects.create(name="shop")
    orders.save()

    expire()

    assert len(on("EXP.orders")) == 1
    assert not Queue.objects.filter(name="EXP.shop").exists()


@pytest.mark.spec("EXP-4")
@pytest.mark.parametrize(
    ("address", "makes"), [("late", False), ("", True), ("orders", True)]
)
def test_nothing_makes_itself_unasked_nor_without_an_address_nor_for_itself(
    orders: Queue, address: str, makes: bool
) -> None:
    make_setting("orders", expiry_address=address, auto_create_expiry_resources=makes)
    put_late()
    expire()
    assert list(Queue.objects.values_list("name", flat=True)) == ["orders"]
    assert done(orders) == 1


@pytest.mark.spec("EXP-6", "MD-3")
@pytest.mark.parametrize("policy", ["ibm", None])
def test_by_ibm_mq_s_rules_what_expired_is_never_a_dead_letter(
    policy: str | None,
) -> None:
    """Nor at its last backout, nor with a queue that would make itself."""
    payments = make_queue("payments", backout_threshold=0 if policy else 1)
    make_queue("DLQ", address="DLA")
    make_setting(
        "payments",
        poison_policy=policy,
        expiry_address="late",
        auto_create_expiry_resources=True,
        max_delivery_attempts=1,
        dead_letter_address="DLA",
    )
    put_late("payments")
    expire()
    put_late("payments")
    work = UnitOfWork(now=NOON)
    work.get("payments")
    work.now = SOON
    work.back_out("no such customer")

    assert DeadLetter.objects.count() == Ready.objects.count() == 0
    assert done(payments) == 2
    assert not Address.objects.filter(name="late").exists()


@pytest.mark.spec("EXP-6", "UNIFY-11")
def test_each_address_has_its_own_choice_in_one_scan(
    orders: Queue, late: Queue
) -> None:
    make_queue("payments")
    make_setting("payments", expiry_address="late", poison_policy="ibm")
    for address in ("orders", "payments"):
        put_late(address, address.encode())
    expire()
    (copy,) = UnitOfWork(now=SOON).get("late", 9)
    assert copy.body == b"orders"


@pytest.mark.spec("EXP-5")
def test_what_expires_while_its_redelivery_is_delayed_is_expired_by_the_scan(
    orders: Queue, late: Queue
) -> None:
    make_setting("#", redelivery_delay_ms=600_000)
    put_late()
    back_out(at=0.5)
    assert journal.depths()[orders.pk].delayed == 1

    expire()

    assert len(on("late")) == 1
    assert journal.depths()[orders.pk].total == 0


@pytest.mark.spec("EXP-6", "MD-3")
@pytest.mark.parametrize("rule", [{"no_expiry": True}, {"max_expiry_delay_ms": 1000}])
def test_what_ibm_mq_s_rules_move_keeps_what_remains_of_its_time(
    rule: dict[str, Any],
) -> None:
    """Whatever the backout queue's address would make of what is sent there."""
    make_poison(backout_queue="BOQ", expires_at=SOON)
    make_queue("BOQ")
    make_setting("BOQ", **rule)
    one = consumer(TRANSACTED)
    one.session.connection.now = NOON + seconds(10)
    assert one.receive_nowait() is None
    one.session.commit()
    one.session.connection.now = NOON + seconds(20)

    message = one.session.consumer("BOQ").receive_nowait()

    assert message is not None
    assert (message.expiration, message.descriptor.expiry) == (SOON, 400)
    assert message.descriptor.backout_count == 0


@pytest.mark.spec("EXP-3", "EXP-2")
def test_copies_of_every_kind_arrive_by_the_rules_of_their_address() -> None:
    make_queue("DLQ", address="DLA")
    make_setting("DLA", expiry_delay_ms=5000)
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    make_dead_letters(1)
    assert Ready.objects.get().expires_at == NOON + seconds(5)

    AddressSetting.objects.update(expiry_delay_ms=None)
    AddressSetting.objects.filter(match="orders").update(expiry_delay_ms=60_000)
    make_dead_letters(1, expires_at=NOON + minutes(9))
    start(plan())

    (again,) = Ready.objects.filter(queue_id=Queue.objects.get(name="orders").pk)
    put_at = Message.objects.get(pk=again.id).put_at
    assert again.expires_at == put_at + seconds(60)
