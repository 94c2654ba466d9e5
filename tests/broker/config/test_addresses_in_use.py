"""An address is deleted only when nothing refers to it, also if just then something is
created for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import connection, transaction
from django.db.models.signals import pre_save

from broker.bridges import dead_messages
from broker.client.celery_transport import queues
from broker.config import auto_create, names
from broker.declarations.declaring import declare_queue
from broker.models import Address, Queue
from broker.models.bridge_names import BUILT_IN_QUEUE
from broker.queueing import processes, subscriptions
from tests.broker.elsewhere import Background, Elsewhere
from tests.console.until import until
from tests.make import NOON

TRADE = "trade"
CREATORS: dict[str, tuple[str, Callable[[], object]]] = {
    "declared": (TRADE, lambda: declare_queue("orders", address=TRADE)),
    "subscribed": (
        TRADE,
        lambda: subscriptions.subscribe(
            TRADE, durable=False, owner=processes.current()
        ),
    ),
    "of Celery": (TRADE, lambda: queues.declare(TRADE, is_temporary=True)),
    "of dead messages": (BUILT_IN_QUEUE, dead_messages.ensure),
}


@pytest.mark.parametrize("creator", CREATORS)
def test_an_address_stays_while_something_is_created_for_it(
    elsewhere: Elsewhere, creator: str
) -> None:
    """Housekeeping looks just before the queue is there."""
    name, create = CREATORS[creator]
    processes.current()
    address = Address.objects.create(name=name, auto_created=True)

    def clean(**_: object) -> None:
        elsewhere(auto_create.delete_idle, now=NOON)

    pre_save.connect(clean, Queue)
    try:
        create()
    finally:
        pre_save.disconnect(clean, Queue)

    assert Queue.objects.get().address == address


def test_a_temporary_topic_goes_with_its_last_subscription(
    elsewhere: Elsewhere,
) -> None:
    """One that another client subscribes to while it is removed stays for that one."""
    owner = processes.current()
    topic = subscriptions.open_temporary(owner=owner, is_topic=True)
    elsewhere.begin()
    later = elsewhere(
        subscriptions.subscribe, topic.address.name, durable=False, owner=owner
    )
    removal = Background(lambda: subscriptions.remove(topic))
    until(is_awaited)
    elsewhere.commit()
    removal.join()
    assert Address.objects.filter(pk=topic.address_id).exists()

    subscriptions.remove(later)
    assert not Address.objects.filter(pk=topic.address_id).exists()


def test_an_address_that_is_gone_is_created_again(transactional_db: None) -> None:
    with transaction.atomic():
        assert names.hold_address("trade") is None
        made = names.ensure_address("trade")
        assert names.hold_address("trade") == made == names.ensure_address("trade")


def is_awaited() -> bool:
    """Whether a connection waits for a lock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            " AND datname = current_database())"
        )
        return bool(cursor.fetchone()[0])
