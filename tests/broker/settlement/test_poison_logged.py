"""What the log says of poison messages that are refused or discarded: which message,
from which queue, to which queue, and the reason.
"""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as configured
from django.contrib.auth.models import User

from broker.errors.mq_codes import Reason
from broker.models import Address, Message, Queue
from broker.queueing import mentions
from broker.queueing.put import put
from broker.settlement import backout, poison
from broker.settlement.poison import Last, Removing
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import back_out
from tests.make import NOON, make_queue, make_setting, make_user

pytestmark = pytest.mark.django_db

DLQ = configured.BROKER_DEAD_LETTER_QUEUE
REFUSING: list[tuple[dict[str, Any] | None, Reason]] = [
    ({"put_inhibited": True}, Reason.PUT_INHIBITED),
    (None, Reason.UNKNOWN_OBJECT_NAME),
    ({}, Reason.NOT_AUTHORIZED),
    ({"max_message_bytes": 1}, Reason.MSG_TOO_BIG_FOR_Q),
    ({"max_depth": 0}, Reason.Q_FULL),
]


@pytest.mark.spec("POISON-7")
@pytest.mark.parametrize(("fields", "reason"), REFUSING)
@pytest.mark.parametrize("client_id", ["ID:order-7", None])
def test_a_refused_move_is_logged_with_message_queues_and_reason(
    caplog: pytest.LogCaptureFixture,
    fields: dict[str, Any] | None,
    reason: Reason,
    client_id: str | None,
) -> None:
    make_queue("elsewhere")  # so that numbers of queues are not those of messages
    make_queue("orders", backout_threshold=1, backout_queue="orders.BOQ")
    make_queue(DLQ)
    if fields is not None:
        make_queue("orders.BOQ", **fields)
    is_denied = reason is Reason.NOT_AUTHORIZED
    user = make_user(granted=("get", "inquire")) if is_denied else None
    number = put("orders", b"two", message_id=client_id, now=NOON).message_id

    take_away("orders.BOQ", user=user)

    text = caplog.records[0].getMessage()
    named = client_id or mentions.jms_id(number)
    assert text.startswith(
        f"Message {number} ({named}) of queue 'orders' cannot be moved to queue"
        f" 'orders.BOQ': reason {int(reason)} ({reason.name}). "
    )


@pytest.mark.spec("POISON-7", "POISON-8")
def test_a_poison_message_without_a_place_is_logged_when_it_is_discarded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_queue("orders", backout_threshold=1, backout_queue="nowhere")
    number = put("orders", b"x", message_id="ID:7", now=NOON).message_id

    take_away("nowhere")

    assert caplog.records[-1].getMessage() == (
        f"Message {number} (ID:7) of queue 'orders' is discarded: {poison.NOWHERE}"
        " (UNKNOWN_OBJECT_NAME)."
    )


@pytest.mark.spec("DLA-3")
def test_discarded_messages_are_named_ten_at_most(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_queue("elsewhere")
    make_queue("orders")
    make_setting("orders", max_delivery_attempts=1, dead_letter_address="DLA")
    numbers = [
        put("orders", message_id=f"ID:{one}", now=NOON).message_id for one in range(12)
    ]

    back_out(limit=12)

    (said,) = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    first = ", ".join(f"{one} (ID:{place})" for place, one in enumerate(numbers[:10]))
    assert said.startswith(
        "12 poison messages of 'orders' are discarded: 'DLA' feeds no queue"
    )
    assert said.endswith(f" They are {first} and 2 more.")


@pytest.mark.spec("DLA-8")
def test_what_stays_where_dead_letters_go_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    make_queue("elsewhere")
    make_queue("DLQ", address="DLA")
    make_setting("#", max_delivery_attempts=1, dead_letter_address="DLA")
    number = put("DLA", message_id="ID:7", now=NOON).message_id

    back_out("DLQ")

    assert caplog.records[-1].getMessage() == backout.PARKED % (
        f"{number} (ID:7)",
        "'DLQ'",
    )


@pytest.mark.spec("DLA-9")
def test_what_reaches_no_queue_is_named(caplog: pytest.LogCaptureFixture) -> None:
    Address.objects.create(name="orders")
    make_setting("#", send_to_dla_on_no_route=True, dead_letter_address="")

    number = put("orders", message_id="ID:7", now=NOON).message_id

    assert not Message.objects.exists()
    assert f"dropped: no dead letter address is set. They are {number} (ID:7)." in (
        caplog.text
    )


def test_a_queue_that_is_gone_is_named_by_its_number() -> None:
    queue = make_queue("orders")
    Queue.objects.all().delete()

    assert mentions.queues([queue.pk]) == str(queue.pk)


def take_away(backout_queue: str, *, user: User | None = None) -> None:
    """Back out the message of orders once, and let its consumer move it."""
    first = UnitOfWork(now=NOON)
    first.get("orders")
    first.back_out("ValueError: no")
    work = UnitOfWork(now=NOON)
    (delivery,) = work.get("orders")
    poison.take_away(
        Removing(delivery, backout_queue), last=Last.DISCARD, user=user, now=NOON
    )
