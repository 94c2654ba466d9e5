"""What a listener writes down of the work of its clients."""

from __future__ import annotations

from broker.models import ClientEndpoint
from broker.queueing.put import put
from tests.amqp.listening import listener
from tests.amqp.putting import accept, in_txn, message, speaking
from tests.amqp.test_listener_register import until_written
from tests.make import make_queue


def test_how_busy_a_consumer_is_and_what_waits_for_a_commit_are_written_down(
    transactional_db: None,
) -> None:
    make_queue("orders")
    put("orders")
    with listener() as here, speaking(here) as client:
        receiver, sender = client.receiver("orders", credit=1), client.sender("orders")
        coordinator = client.coordinator()
        txn = client.declare(coordinator)
        client.ask(sender, message(), message(), state=in_txn(txn))
        (got,) = client.get(receiver)
        gets = ClientEndpoint.objects.filter(kind="gets", busy_percent__gt=50)
        transactions = ClientEndpoint.objects.filter(uncommitted=2)

        until_written(here, gets.exists)
        assert transactions.get().kind == "transactions"

        accept(client, [got], txn)
        client.discharge(coordinator, txn, fail=False)
        until_written(here, lambda: not transactions.exists())
