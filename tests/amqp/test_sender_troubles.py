"""Getting while things go wrong: transactions left open, a database that goes away, and
many at once."""

from __future__ import annotations

import threading
from collections import Counter
from functools import partial

import pytest
from django.db import connection

from broker.amqp.protocol import performatives as p
from broker.amqp.protocol.types.types import Symbol
from broker.amqp.senders import browser, closing, sender
from broker.models import Claim, Ready, UnitOfWork
from broker.queueing.put import NewMessage, put, put_many
from tests.amqp.getting import Getting, attach, bodies, counts, getting, listener
from tests.amqp.putting import Speaker
from tests.broker.elsewhere import Background
from tests.console.until import until
from tests.make import make_messages, make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

HANG_UP = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND application_name <> 'backout owner'
"""


def hang_up() -> None:
    """The database ends all connections, but for this one and the owner's."""
    with connection.cursor() as cursor:
        cursor.execute(HANG_UP)


def ready() -> list[int]:
    """The backout counts of what is ready, in order."""
    rows = Ready.objects.order_by("-priority", "pos")
    return list(rows.values_list("backout_count", flat=True))


class TestDetachedInTheMidstOfATransaction:
    """Two of three messages were accepted in a transaction when it is detached."""

    def detached(self, speaker: Speaker, *, settled: bool) -> tuple[Getting, bytes]:
        put_many(make_messages(3))
        client = Getting(speaker.wire, speaker.receiver("orders"))
        self.coordinator = speaker.coordinator()
        txn = speaker.declare(self.coordinator)
        client.grant(3)
        got = client.get(3)
        state = p.TransactionalState(txn, p.Accepted())
        client.say(got[:2], state, settled=settled)
        client.detach()
        until(lambda: Ready.objects.count() == 1)
        return client, txn

    @pytest.mark.parametrize("settled", [False, True])
    def test_they_are_gone_with_its_commit(self, settled: bool) -> None:
        make_queue()
        with listener() as here:
            speaker = Speaker(here.client())
            _, txn = self.detached(speaker, settled=settled)
            ended = speaker.discharge(self.coordinator, txn, fail=False)
            assert ended == p.Accepted()
            until(lambda: not UnitOfWork.objects.exists())
            assert ready() == [0]

    @pytest.mark.parametrize("settled", [False, True])
    def test_they_are_back_and_counted_with_its_rollback(self, settled: bool) -> None:
        make_queue()
        with listener() as here:
            speaker = Speaker(here.client())
            _, txn = self.detached(speaker, settled=settled)
            speaker.discharge(self.coordinator, txn, fail=True)
            until(lambda: not UnitOfWork.objects.exists())
            assert ready() == [1, 1, 0]

    def test_they_are_back_and_counted_if_the_client_goes(self) -> None:
        make_queue()
        with listener() as here:
            speaker = Speaker(here.client())
            self.detached(speaker, settled=True)
            speaker.wire.drop()
            until(lambda: not UnitOfWork.objects.exists())
            assert ready() == [1, 1, 0]


def test_a_database_that_hangs_up_costs_no_message_and_repeats_none() -> None:
    make_queue()
    put_many(make_messages(6))
    with listener() as here:
        client = getting(here)
        client.grant(2)
        first = client.get(2)

        hang_up()
        client.say(first, p.Accepted(), settled=False)
        assert client.answer_to(first[1]) == p.Accepted()
        hang_up()
        client.grant(4)
        rest = client.get(4)

        assert bodies(first + rest) == [b"1", b"2", b"3", b"4", b"5", b"6"]
        assert counts(rest) == [0, 0, 0, 0]
        client.say(rest, p.Accepted())
        until(lambda: not Claim.objects.exists())
    assert not Ready.objects.exists()


@pytest.fixture
def long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not try again at once, and soon after that, is too late."""
    for module in (browser, closing, sender):
        monkeypatch.setattr(module, "AWAY_S", 3600.0)


@pytest.mark.usefixtures("long_waits")
def test_one_who_waits_outlives_a_database_that_hangs_up() -> None:
    make_queue()
    with listener() as here:
        client = getting(here)
        client.grant(1)
        here.until(lambda: here.listener.waking.lines)
        hang_up()
        put("orders", b"x")
        assert bodies(client.get()) == [b"x"]


@pytest.mark.usefixtures("long_waits")
def test_one_who_browses_outlives_a_database_that_hangs_up() -> None:
    make_queue()
    put("orders", b"1")
    with listener() as here:
        client = getting(here, distribution_mode=Symbol("copy"))
        client.grant(1)
        assert bodies(client.get()) == [b"1"]
        hang_up()
        put("orders", b"2")
        client.grant(1)
        assert bodies(client.get()) == [b"2"]


@pytest.mark.usefixtures("long_waits")
def test_an_end_outlives_a_database_that_hangs_up() -> None:
    make_queue()
    put_many(make_messages(3))
    with listener() as here:
        client = getting(here)
        client.grant(3)
        client.get(3)
        hang_up()
        client.detach()
        until(lambda: not UnitOfWork.objects.exists())
        assert ready() == [0, 0, 0]


def test_many_who_put_and_get_at_once_lose_and_repeat_nothing() -> None:
    make_queue()
    batches, size = 40, 10
    wanted = [b"%d" % number for number in range(batches * size)]
    got: Counter[bytes] = Counter()
    lock = threading.Lock()

    def put_some(part: int) -> None:
        for batch in range(part, batches, 2):
            bodies_of = wanted[batch * size : (batch + 1) * size]
            put_many([NewMessage("orders", body) for body in bodies_of])

    def get_some(client: Getting, credit: int) -> None:
        client.grant(credit)
        while True:
            new = client.get()
            client.say(new, p.Accepted())
            with lock:
                got.update(bodies(new))
            if bodies(new) == [b"stop"]:
                return
            client.grant(credit)

    with listener() as here:
        getters = [
            Background(partial(get_some, getting(here), credit))
            for credit in (1, 2, 10, 100)
        ]
        putters = [Background(partial(put_some, part)) for part in range(2)]
        for putter in putters:
            putter.join()
        until(lambda: sum(got.values()) == len(wanted))
        until(lambda: not Claim.objects.exists())
        for getter in getters:
            stop(getter)
    del got[b"stop"]
    assert got == Counter(wanted)


def stop(getter: Background) -> None:
    """Whoever gets the word ends; it is said until this one has."""
    while getter.thread.is_alive():
        put("orders", b"stop")
        getter.thread.join(0.2)
    getter.join()


def test_two_endpoints_of_a_connection_do_not_hold_each_other_up() -> None:
    make_queue()
    make_queue("bills")
    put_many([NewMessage("orders", bytes(1000)) for _ in range(10)])
    put("bills", b"x")
    with listener(max_in_flight_bytes=4000) as here:
        wire = here.client()
        greedy = attach(wire, name="greedy")
        greedy.grant(100)
        greedy.get(3)
        assert attach(wire, "bills", name="modest").take_all() == [b"x"]
