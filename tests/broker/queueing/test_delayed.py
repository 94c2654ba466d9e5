"""Entries that wait: for how long, where they come back, and who lets them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from broker.models import AddressSetting, Delayed, Place, Queue, Ready
from broker.monitoring import fsck
from broker.queueing import delayed, journal, notifications, processes
from broker.queueing.browse import browse
from broker.queueing.delayed import until_due_s, until_next_due, wake_due, wake_due_on
from broker.queueing.put import put, put_many
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.dying import back_out
from tests.broker.elsewhere import Background, Elsewhere
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, make_setting, minutes, seconds

DUE = NOON + minutes(1)
LONG_AGO = NOON - minutes(1)


@pytest.fixture
def orders(db: None) -> Queue:
    make_setting("#", redelivery_delay_ms=60_000, max_delivery_attempts=-1)
    return make_queue()


@pytest.fixture
def really(transactional_db: None) -> Queue:
    """The same, where other connections see it."""
    make_setting("#", redelivery_delay_ms=60_000, max_delivery_attempts=-1)
    return make_queue()


def put_delayed(count: int, queue: str = "orders", at: float = 0) -> list[int]:
    """Messages that were backed out together, and are due a minute later."""
    ids = [one.message_id for one in put_many(make_messages(count, queue), now=NOON)]
    back_out(queue, limit=count, at=at)
    return ids


def got(queue: str = "orders", limit: int = 100, at: float = 1) -> list[bytes]:
    """The bodies that a get takes, some minutes after noon."""
    with unit_of_work(now=NOON + minutes(at)) as work:
        return [one.body for one in work.get(queue, limit)]


def ready(queue: Queue) -> list[int]:
    """The ready messages of a queue, in the order of gets."""
    entries = Ready.objects.filter(queue_id=queue.pk).order_by("-priority", "pos")
    return list(entries.values_list("id", flat=True))


@pytest.mark.spec("REDEL-4")
def test_only_what_was_backed_out_waits(orders: Queue) -> None:
    put_many(make_messages(3), now=NOON)
    back_out()
    put("orders", b"4", now=NOON)

    assert got(at=0) == [b"2", b"3", b"4"]
    assert got() == [b"1"]


@pytest.mark.spec("REDEL-6")
def test_nothing_comes_back_early(orders: Queue) -> None:
    put_delayed(1)

    early = DUE - timedelta(microseconds=1)
    assert wake_due(limit=9, now=early) == 0
    assert wake_due_on("orders", limit=9, now=early) == 0
    assert wake_due(limit=9, now=DUE) == 1


@pytest.mark.spec("REDEL-6", "UOW-3")
def test_what_is_due_is_at_the_head_in_the_original_order(orders: Queue) -> None:
    put_delayed(3)
    put("orders", b"new", now=NOON)

    wake_due(limit=9, now=DUE)

    assert got() == [b"1", b"2", b"3", b"new"]


@pytest.mark.spec("REDEL-6")
def test_a_batch_is_the_longest_due_in_order(orders: Queue) -> None:
    late = put_delayed(4)
    later = put_delayed(3, at=0.5)
    seen: list[int] = []

    for expected in (3, 3, 1, 0):
        assert wake_due(limit=3, now=DUE + minutes(1)) == expected
        new = [one for one in ready(orders) if one not in seen]
        seen += new
        assert new == sorted(new)

    assert seen == late + later


@pytest.mark.spec("REDEL-6")
def test_a_waiting_message_is_counted_among_all_and_by_itself(orders: Queue) -> None:
    put_delayed(2)
    put("orders", now=NOON)

    depth = journal.depths()[orders.pk]

    assert (depth.total, depth.delayed, depth.ready) == (3, 2, 1)
    waiting = browse(orders.pk, Place.DELAYED)
    assert [one.until for one in waiting] == [DUE, DUE]
    assert fsck.violations() == []


@pytest.mark.spec("REDEL-6")
def test_the_delay_goes_on_while_the_broker_is_stopped(really: Queue) -> None:
    put_delayed(1)
    back_out(at=1)  # and is due a minute later
    put_delayed(1, at=1.5)

    processes.resign()
    connection.close()

    assert got(at=1.9) == []
    assert got(at=2.1) == [b"1"]  # due when it was stopped, and at once
    assert Delayed.objects.get().due_at == NOON + minutes(2.5), "the other has its rest"


@pytest.mark.spec("REDEL-7")
def test_one_setting_is_for_many_addresses_and_a_change_for_the_next_failure(
    db: None,
) -> None:
    make_setting("eu.#", redelivery_delay_ms=1000, max_delivery_attempts=-1)
    queues = [make_queue(name) for name in ("eu.orders", "eu.bills.paid")]
    consumers = [UnitOfWork(now=NOON) for _ in queues]
    for queue, work in zip(queues, consumers, strict=True):
        put(queue.name, now=NOON)
        work.get(queue.name)

    consumers[0].back_out("no")
    AddressSetting.objects.update(redelivery_delay_ms=5000)
    consumers[1].back_out("no")  # which had begun before

    dues = dict(Delayed.objects.values_list("queue_id", "due_at"))
    assert [dues[queue.pk] - NOON for queue in queues] == [seconds(1), seconds(5)]


@pytest.mark.spec("REDEL-6")
def test_every_queue_has_its_share_of_a_batch(orders: Queue) -> None:
    bills = make_queue("bills")
    put_delayed(100)
    put_delayed(2, "bills", at=0.5)

    assert wake_due(limit=10, now=DUE + minutes(1)) == 5 + 2

    assert (len(ready(orders)), len(ready(bills))) == (5, 2)


def test_a_batch_takes_one_of_each_queue_at_least(orders: Queue) -> None:
    for n in range(3):
        make_queue(f"q{n}")
        put_delayed(2, f"q{n}")

    assert wake_due(limit=1, now=DUE) == 3


def test_a_batch_takes_of_no_more_queues_than_a_server_can_lock(
    orders: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delayed, "QUEUES", 2)
    for n in (3, 1, 2):
        make_queue(f"q{n}")
        put_delayed(1, f"q{n}", at=n / 10)

    assert wake_due(limit=9, now=DUE + minutes(1)) == 2
    left = Delayed.objects.values_list("queue_id", flat=True)
    assert Queue.objects.get(pk__in=left).name == "q3", "the due for longest first"
    assert wake_due(limit=9, now=DUE + minutes(1)) == 1


@pytest.mark.spec("REDEL-6")
def test_while_one_releases_others_leave_the_queue_to_it(
    really: Queue, elsewhere: Elsewhere
) -> None:
    put_delayed(4)
    elsewhere.begin()
    assert elsewhere(wake_due, limit=2, now=DUE) == 2
    bills = make_queue("bills")
    put_delayed(1, "bills")

    assert wake_due(limit=9, now=DUE) == 1, "its own turn has every queue"
    assert len(ready(bills)) == 1
    elsewhere.commit()
    assert wake_due(limit=9, now=DUE) == 2
    assert fsck.violations() == []


@pytest.mark.spec("REDEL-6")
@pytest.mark.parametrize("join", [False, True])
def test_a_consumer_does_not_overtake_a_batch_that_becomes_ready(
    really: Queue, elsewhere: Elsewhere, join: bool
) -> None:
    put_delayed(4)
    elsewhere.begin()
    elsewhere(wake_due, limit=2, now=DUE)
    bodies: list[bytes] = []

    def take() -> None:
        with unit_of_work(join=join, now=DUE) as work:
            bodies.extend(one.body for one in work.get("orders"))

    taking = Background(take)
    waits_for_a_turn()
    elsewhere.commit()
    taking.join()

    assert bodies == [b"1"]


def waits_for_a_turn() -> None:
    def waits() -> bool:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
                " AND classid = %s::int::oid AND NOT granted",
                [delayed.TURNS],
            )
            return bool(cursor.fetchone()[0])

    until(waits)


@pytest.mark.spec("REDEL-6")
def test_a_joined_consumer_at_work_holds_up_nobody(
    really: Queue, elsewhere: Elsewhere
) -> None:
    put_delayed(3)
    with unit_of_work(join=True, now=DUE) as work:
        assert [one.body for one in work.get("orders")] == [b"1"]
        assert elsewhere(wake_due, limit=9, now=DUE) == 2
        assert elsewhere(got) == [b"2", b"3"]


@pytest.mark.spec("REDEL-6")
def test_who_looks_at_a_long_wait_reads_one_entry(orders: Queue) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO broker_delayed (due_at, id, queue_id, priority)"
            " SELECT now() + n * interval '1 s', n, %s, 4"
            " FROM generate_series(1, 9999) n",
            [orders.pk],
        )
        cursor.execute("ANALYZE broker_delayed")
        with CaptureQueriesContext(connection) as asked:
            assert until_next_due("orders") is not None
        (question,) = asked.captured_queries
        cursor.execute("EXPLAIN " + question["sql"])
        plan = "\n".join(row[0] for row in cursor.fetchall())

    assert "using broker_delayed_queue" in plan
    assert plan.count("Limit") >= 2, plan


def test_what_is_due_and_in_other_hands_is_looked_at_again_soon(
    really: Queue, elsewhere: Elsewhere
) -> None:
    put_delayed(1)
    elsewhere.begin()
    elsewhere(wake_due, limit=1, now=DUE)

    assert until_due_s("orders") == delayed.AGAIN_S  # noon is long over


def test_where_nothing_waits_a_consumer_waits_for_the_clock(orders: Queue) -> None:
    assert until_due_s("orders") == notifications.POLL_S


@pytest.mark.spec("REDEL-3")
def test_one_rollback_has_one_time_base(orders: Queue) -> None:
    put_many(make_messages(3))
    work = UnitOfWork()
    work.get("orders", 3)
    work.back_out("no")

    assert Delayed.objects.values("due_at").distinct().count() == 1
