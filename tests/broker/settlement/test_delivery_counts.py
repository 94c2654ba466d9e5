"""Which deliveries are counted, whatever dies: the consumer, or the database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from broker import tasks
from broker.models import Claim, Queue, Ready
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import fsck
from broker.queueing import journal, processes
from broker.queueing.get import Delivery, commits_how
from broker.queueing.put import put
from broker.transactions.scope import UnitOfWork
from tests.broker import crashing
from tests.broker.crashing import Server
from tests.broker.elsewhere import Elsewhere, process, said
from tests.broker.handling import Seen, handle_next, handler
from tests.console.until import until
from tests.make import make_queue

pytestmark = pytest.mark.usefixtures("transactional_db")

EITHER = pytest.mark.parametrize("persist", [False, True])
HOLDER = """
from broker.transactions.scope import unit_of_work
with unit_of_work(join=%s) as work:
    print(len(work.get("orders")), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def orders() -> Queue:
    return make_queue()


@pytest.fixture
def counted_first(settings: Settings) -> None:
    settings.BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY = True


@pytest.fixture
def server(transactional_db: None) -> Iterator[Server]:
    with TemporaryDirectory() as directory, crashing.server(Path(directory)) as one:
        make_queue()
        yield one


def count() -> int:
    """What the next delivery says of those before it; it is released again."""
    work = UnitOfWork()
    (delivery,) = work.get("orders")
    work.release(delivery)
    work.commit()
    return delivery.backout_count


@pytest.mark.thorough
@pytest.mark.spec("DCP-1", "DCP-2", "DCP-3")
def test_a_crash_of_the_server(server: Server, settings: Settings) -> None:
    """In one test, for a server takes a second to make."""
    put("orders")
    for persist, counts in [(False, 0), (True, 1)]:
        settings.BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY = persist

        UnitOfWork().get("orders")
        server.crash()
        assert Claim.objects.count() == counts
        tasks.back_out_overdue()

        assert count() == counts

    handle_next(handler(Seen(lambda _: server.crash())))
    tasks.back_out_overdue()
    assert count() == 2, "a joined handler is no exception"

    settings.BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY = False
    UnitOfWork().get("orders")
    server.restart()
    tasks.back_out_overdue()
    assert count() == 3, "an orderly stop is no crash"
    assert fsck.violations() == []


@EITHER
@pytest.mark.spec("DCP-3")
def test_counts_are_1_2_3_over_a_stop(
    orders: Queue, settings: Settings, persist: bool
) -> None:
    settings.BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY = persist
    put("orders")
    counts = []
    for _ in range(2):
        work = UnitOfWork()
        (delivery,) = work.get("orders")
        counts.append(delivery.backout_count + 1)
        if len(counts) == 1:
            work.back_out("no")
    processes.resign()  # with the second delivery in its hands
    tasks.back_out_overdue()

    assert [*counts, count() + 1] == [1, 2, 3]


@pytest.mark.parametrize("join", [False, True])
@pytest.mark.spec("DCP-3")
def test_a_client_that_is_killed_has_its_delivery_counted(
    orders: Queue, join: bool
) -> None:
    put("orders")
    with process(HOLDER % join) as holder:
        assert said(holder) == "1"

    def swept() -> bool:
        tasks.back_out_overdue()
        return not UnitRow.objects.exists()

    until(swept)
    assert count() == 1


@pytest.mark.spec("DCP-4")
def test_an_unread_message_takes_the_early_count_back(
    orders: Queue, counted_first: None
) -> None:
    put("orders")

    for _ in range(2):
        assert count() == 0
    assert Ready.objects.get().backout_count == 0


@pytest.mark.spec("DCP-2")
def test_a_get_waits_for_the_disk_only_where_counts_must_be_true(
    settings: Settings,
) -> None:
    assert commits_how() == "off"
    settings.BROKER_PERSIST_DELIVERY_COUNT_BEFORE_DELIVERY = True
    assert commits_how() is None


@pytest.mark.spec("DCP-2")
def test_a_joined_handler_s_delivery_is_seen_by_others_before_it_runs(
    orders: Queue, counted_first: None, elsewhere: Elsewhere
) -> None:
    put("orders")
    seen: list[int] = []

    def look(delivery: Delivery) -> None:
        User.objects.create(username="customer")
        elsewhere.begin()
        seen.append(elsewhere(Claim.objects.filter(uow=delivery.uow).count))
        seen.append(elsewhere(User.objects.count))
        elsewhere.commit()

    assert handle_next(handler(Seen(look))) == 1

    assert seen == [1, 0]
    assert User.objects.count() == 1
    assert journal.depths()[orders.pk].total == 0
