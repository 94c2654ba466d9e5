"""Putting while the database is away, and what is said of it then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from broker.amqp.batches import Batches
from broker.amqp.protocol import performatives as p
from broker.amqp.receivers import credit as crediting
from broker.amqp.receivers.receiver import LARGE_BYTES
from broker.models import Message, Queue
from broker.queueing import processes
from tests.amqp.listening import Listening, listener
from tests.amqp.putting import command, message, speaking
from tests.console.until import until
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

KNOWN = p.Source(outcomes=("amqp:accepted:list", "amqp:rejected:list"))


def backend_of(here: Listening, batches: Batches[Any, Any]) -> int:
    """The process of the server that stores what is put, or ends what was got."""

    def pid() -> int:
        return int(connection.connection.info.backend_pid)

    found: list[int] = []

    def ask() -> None:
        future = batches.pool.run(pid)
        future.add_done_callback(lambda done: found.append(done.result()))

    here.call(ask)
    here.until(lambda: found)
    return found[0]


def execute(statement: str, *parameters: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)


@contextmanager
def away(here: Listening) -> Iterator[None]:
    """Nobody who stores what is put reaches the database."""
    name = connection.settings_dict["NAME"]
    backend = backend_of(here, here.listener.puts)
    parameters = {
        key: value
        for key, value in connection.get_connection_params().items()
        if key not in processes.NOT_OURS
    }
    with psycopg.connect(**parameters | {"dbname": "postgres"}, autocommit=True) as by:
        by.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')
        by.execute("SELECT pg_terminate_backend(%s, 5000)", [backend])
        try:
            yield
        finally:
            by.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')


def wait_for_a_lock(backend: int) -> None:
    """Until a process of the server waits for somebody else's transaction."""
    waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"

    def is_waiting() -> bool:
        with connection.cursor() as cursor:
            cursor.execute(waits, [backend])
            return bool(cursor.fetchone() == (True,))

    until(is_waiting)


def test_a_small_message_is_stored_while_a_large_one_is_held_back() -> None:
    make_queue("big", max_depth=100)  # so that a put waits for its lock
    make_queue("orders")
    with listener() as here, speaking(here) as client, speaking(here) as other:
        large, small = client.sender("big"), other.sender("orders")
        backend = backend_of(here, here.listener.large_puts)
        with transaction.atomic():
            Queue.objects.select_for_update().get(name="big")
            sent = client.put(large, message(bytes(LARGE_BYTES)), message(b"after it"))
            wait_for_a_lock(backend)

            assert other.ask(small, message()) == p.Accepted()

        assert client.outcomes(sent) == [p.Accepted()] * 2
    stored = Message.objects.filter(address="big").order_by("pk")
    assert [len(one.body) for one in stored] == [LARGE_BYTES, len(b"after it")]


def test_a_put_that_the_server_undid_is_made_again_and_once() -> None:
    make_queue("orders", max_depth=100)  # so that a put waits for its lock
    with listener() as here, speaking(here) as client:
        sender = client.sender("orders")
        backend = backend_of(here, here.listener.puts)

        with transaction.atomic():
            Queue.objects.select_for_update().get(name="orders")
            sent = client.put(sender, message(), message())
            wait_for_a_lock(backend)
            execute("SELECT pg_terminate_backend(%s, 5000)", backend)
        outcomes = client.outcomes(sent)

        assert outcomes == [p.Accepted()] * 2
        assert Message.objects.count() == 2


def test_puts_wait_while_the_database_is_away_and_keep_their_order() -> None:
    make_queue("orders")
    with listener(put_credit=6) as here, speaking(here) as client:
        sender = client.sender("orders")
        with away(here):
            sent = client.put(sender, *[message(b"%d" % number) for number in range(6)])
            here.until(lambda: here.listener.puts.away)
            credit = sender.credit
        outcomes = client.outcomes(sent)
        more = client.ask(sender, message(b"6"))

        assert credit == 0
        assert [*outcomes, more] == [p.Accepted()] * 7
        stored = Message.objects.order_by("pk").values_list("body", flat=True)
        assert [bytes(one) for one in stored] == [b"%d" % n for n in range(7)]


def test_after_a_while_a_put_is_released_and_may_be_sent_again() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        here.listener.puts.patience_s = 0.0
        sender = client.sender("orders")
        with away(here):
            answered = client.ask(sender, message())
        again = client.ask(sender, message())

        assert answered == p.Released()
        assert again == p.Accepted()


def test_a_client_that_knows_no_release_is_told_by_a_rejection() -> None:
    make_queue("orders")
    with listener() as here, speaking(here) as client:
        here.listener.puts.patience_s = 0.0
        sender = client.sender("orders", source=KNOWN)
        with away(here):
            answered = client.ask(sender, message())

        assert isinstance(answered, p.Rejected)
        assert answered.error is not None
        assert answered.error.condition == "amqp:internal-error"


def test_credit_comes_back_with_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crediting, "HELD_UP_S", 0.01)
    make_queue("orders")
    with listener(put_credit=4) as here, speaking(here) as client:
        sender = client.sender("orders")
        with away(here):
            sent = client.put(sender, *[message()] * 4)
            here.until(lambda: here.listener.puts.away)

        assert client.outcomes(sent) == [p.Accepted()] * 4
        assert client.credit(sender, 4) == 4


def test_a_client_that_puts_more_than_can_be_held_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crediting, "MOST_BYTES", 10_000)
    make_queue("orders", max_depth=100)
    with listener() as here, speaking(here) as client:
        sender = client.sender("orders")
        backend = backend_of(here, here.listener.puts)

        with transaction.atomic():
            Queue.objects.select_for_update().get(name="orders")
            sent = client.put(sender, message(b"x" * 20_000))
            wait_for_a_lock(backend)
            held = here.call(lambda: reasons(here))
        outcomes = client.outcomes(sent)

        assert held == {"puts"}
        assert outcomes == [p.Accepted()]
        assert here.call(lambda: reasons(here)) == set()
        assert client.ask(sender, *[message(b"x" * 8_000)] * 9) == [p.Accepted()] * 9


def reasons(here: Listening) -> set[str]:
    (client,) = here.listener.clients
    return set(client.hearing.reasons)


def test_a_transaction_waits_for_the_database_and_is_committed_once() -> None:
    make_queue("orders", max_depth=100)
    with listener() as here, speaking(here) as client:
        sender, coordinator = client.sender("orders"), client.coordinator()
        txn = client.declare(coordinator)
        client.ask(sender, message(), state=p.TransactionalState(txn))
        backend = backend_of(here, here.listener.settlements)

        with transaction.atomic():
            Queue.objects.select_for_update().get(name="orders")
            sent = client.put(coordinator, command(p.Discharge(txn, fail=False)))
            wait_for_a_lock(backend)
            execute("SELECT pg_terminate_backend(%s, 5000)", backend)
        (ended,) = client.outcomes(sent)

        assert ended == p.Accepted()
        assert Message.objects.count() == 1
