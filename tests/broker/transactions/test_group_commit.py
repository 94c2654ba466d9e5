"""Units of work that end by one statement, each as it would end alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError, connection

from broker import sql
from broker.errors import LockLost
from broker.errors.units_of_work import BackedOut
from broker.models import Claim, Delayed, Queue, Ready, Returned
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import fsck
from broker.queueing.get import Delivery, Next
from broker.queueing.put import put, put_many
from broker.settlement import settle
from broker.settlement.outcomes import BackOut, Release
from broker.transactions.group_commit import GroupCommit
from broker.transactions.scope import UnitOfWork
from tests.broker.handling import Seen, handler, running
from tests.console.until import until
from tests.make import NOON, make_messages, make_queue, make_setting

TOGETHER, RETURNING = "accept, get_each", "accept_returning, get_each"


@pytest.fixture(autouse=True)
def orders(transactional_db: None) -> Queue:
    return make_queue("orders")


@pytest.fixture
def group(settings: Any) -> Iterator[GroupCommit]:
    """A group of two, which wait for each other."""
    settings.BROKER_SETTLE_WITHIN_MS = 60_000
    group = GroupCommit("orders", "tests", 2)
    group.usual = 2
    yield group
    group.close()


def together(*calls: Callable[[], Any]) -> list[Any]:
    """What calls return that are made at once."""

    def called(call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(called, calls, timeout=60))


def begun(group: GroupCommit) -> tuple[UnitOfWork, UnitOfWork]:
    """Two units of work with a message each, got by one statement."""
    first, second = together(group.get, group.get)
    return work_with(first, group), work_with(second, group)


def work_with(deliveries: list[Delivery] | None, group: GroupCommit) -> UnitOfWork:
    assert deliveries
    work = UnitOfWork(actor="tests")
    work.group = group
    work.note(deliveries)
    return work


def commit_both(*works: UnitOfWork) -> list[type[Exception] | None]:
    """What the commits raise."""

    def committed(work: UnitOfWork) -> type[Exception] | None:
        try:
            work.commit()
        except Exception as error:  # noqa: BLE001  # it is the result
            return type(error)
        return None

    return together(*(partial(committed, work) for work in works))


def test_each_session_gets_a_unit_of_work_of_its_own(
    group: GroupCommit, statements: list[str]
) -> None:
    put_many(make_messages(3))
    statements.clear()

    first, second = begun(group)

    assert [one for one in statements if one.endswith("get_each")] == ["get_each"]
    assert first.id != second.id
    assert set(UnitRow.objects.values_list("pk", flat=True)) == {first.id, second.id}
    assert Claim.objects.count() == 2
    assert fsck.violations() == []


def test_two_are_accepted_by_one_statement_that_gets_the_next_two(
    group: GroupCommit, statements: list[str]
) -> None:
    put_many(make_messages(4))
    works = begun(group)
    statements.clear()
    for work in works:
        work.then = Next("orders", pooled=True)

    assert commit_both(*works) == [None, None]

    assert [one for one in statements if "accept" in one] == [TOGETHER]
    following = [one for work in works for one in work.following]
    assert [one.uow for one in following] == sorted(one.uow for one in following)
    assert len({one.message_id for one in following}) == 2
    assert Claim.objects.count() == 2
    assert fsck.violations() == []


def test_what_tasks_return_is_kept_by_the_same_statement(
    group: GroupCommit, statements: list[str]
) -> None:
    put_many(make_messages(4))
    returning, other = begun(group)
    returning.returned = '{"total": 3}'
    assert returning.id is not None
    (message_id,) = Claim.objects.get(uow=returning.id).ids
    statements.clear()
    for work in (returning, other):
        work.then = Next("orders", pooled=True)

    assert commit_both(returning, other) == [None, None]

    assert [one for one in statements if "accept" in one] == [RETURNING]
    assert list(Returned.objects.values_list()) == [(message_id, {"total": 3})]
    assert len(returning.following) == len(other.following) == 1
    assert fsck.violations() == []


@pytest.mark.parametrize("what", ["lost", "no JSON"])
def test_what_is_not_accepted_has_returned_nothing(
    group: GroupCommit, what: str
) -> None:
    """Its neighbour has."""
    put_many(make_messages(2))
    bad, good = begun(group)
    assert bad.id is not None
    bad.returned, good.returned = "1" if what == "lost" else "NaN", "2"
    if what == "lost":
        settle.end(bad.id, BackOut("by hand"))

    refused = LockLost if what == "lost" else BackedOut
    assert commit_both(bad, good) == [refused, None]

    assert [one.value for one in Returned.objects.all()] == [2]
    assert [one.backout_count for one in Ready.objects.all()] == [1]
    assert fsck.violations() == []


def test_one_that_has_lost_its_lease_refuses_no_other(group: GroupCommit) -> None:
    put_many(make_messages(2))
    lost, kept = begun(group)
    assert lost.id is not None
    settle.end(lost.id, BackOut("by hand"))

    assert commit_both(lost, kept) == [LockLost, None]

    assert [one.backout_count for one in Ready.objects.all()] == [1]
    assert not Claim.objects.exists()
    assert fsck.violations() == []


class Lost:
    """Loses the connection before or after a statement."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *, runs: bool, of: str = "accept"
    ) -> None:
        self.run, self.runs, self.of = sql.run, runs, of
        monkeypatch.setattr(sql, "run", self)

    def __call__(self, name: str, parameters: dict[str, Any]) -> Any:
        alone = len(parameters.get("ended_uows", ())) == 1
        if alone or not name.startswith(self.of):
            return self.run(name, parameters)
        if self.runs:
            self.run(name, parameters)
        connection.connection.close()
        raise OperationalError("the connection was lost")


@pytest.mark.parametrize(
    ("runs", "raised", "left"),
    [(False, [BackedOut] * 2, [1, 1]), (True, [OperationalError] * 2, [])],
)
def test_a_lost_answer_is_known_afterwards(
    group: GroupCommit,
    monkeypatch: pytest.MonkeyPatch,
    runs: bool,
    raised: list[type[Exception]],
    left: list[int],
) -> None:
    put_many(make_messages(2))
    works = begun(group)
    Lost(monkeypatch, runs=runs)

    assert commit_both(*works) == raised

    assert [one.backout_count for one in Ready.objects.all()] == left
    assert not Claim.objects.exists()
    assert fsck.violations() == []


@pytest.mark.parametrize("closes", [False, True])
def test_what_a_lost_answer_had_got_is_released(
    group: GroupCommit, monkeypatch: pytest.MonkeyPatch, *, closes: bool
) -> None:
    put_many(make_messages(4))
    works = begun(group)
    for work in works:
        work.then = Next("orders", pooled=True)
    Lost(monkeypatch, runs=True)
    assert commit_both(*works) == [OperationalError] * 2
    assert Claim.objects.count() == 2

    if closes:
        group.close()
    else:
        group.usual = 1
        (delivery,) = group.get() or []
        settle.end(delivery.uow, Release())

    assert not Claim.objects.exists()
    assert [one.backout_count for one in Ready.objects.all()] == [0, 0]
    assert fsck.violations() == []


def test_what_a_lost_get_had_got_is_released(
    group: GroupCommit, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_many(make_messages(2))
    group.usual = 1
    with monkeypatch.context() as patch:
        Lost(patch, runs=True, of="get_each")
        assert group.get() is None  # the session gets by itself
    assert Claim.objects.count() == 1

    (delivery,) = group.get() or []

    assert [one.uow for one in Claim.objects.all()] == [delivery.uow]
    assert delivery.backout_count == 0
    assert Ready.objects.count() == 1
    assert fsck.violations() == []


def test_another_error_makes_each_commit_by_itself(
    group: GroupCommit, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_many(make_messages(2))
    works = begun(group)

    def refuse(*_: object) -> list[Delivery]:
        raise RuntimeError("of our own")

    monkeypatch.setattr(group, "carry_out", refuse)

    assert commit_both(*works) == [None, None]
    assert not Claim.objects.exists()
    assert fsck.violations() == []


def test_what_is_due_is_got_and_what_has_expired_is_not(
    group: GroupCommit, settings: Any
) -> None:
    settings.BROKER_MESSAGE_EXPIRY_SCAN_PERIOD_S = -1  # a get ends what has expired
    group.usual = 1
    put("orders", b"due", deliver_at=NOON, now=NOON)
    put("orders", b"late", expires_at=NOON, now=NOON)
    Delayed.objects.update(due_at=NOON)

    (delivery,) = group.get() or []

    assert delivery.body == b"due"
    assert group.get() == []
    assert not Ready.objects.exists()


def test_a_closed_group_does_nothing(group: GroupCommit) -> None:
    put_many(make_messages(1))
    group.close()

    assert group.get() is None
    work = work_with(UnitOfWork().get("orders"), group)
    work.commit()
    assert not Claim.objects.exists()


def test_messages_come_by_priority(group: GroupCommit) -> None:
    put("orders", b"low", priority=1)
    put("orders", b"high", priority=8)
    first, second = together(group.get, group.get)
    got = [*first, *second]
    by_unit = sorted(got, key=lambda one: one.message_id)
    assert [one.body for one in by_unit] == [b"low", b"high"]


@pytest.mark.parametrize("within_ms", [0, 2])
def test_sessions_handle_each_message_once(
    settings: Any, statements: list[str], within_ms: int
) -> None:
    settings.BROKER_SETTLE_WITHIN_MS = within_ms
    make_setting("orders", max_delivery_attempts=3, dead_letter_address="graves")
    make_queue("graves")
    put_many(make_messages(200, "orders"))
    wrong = set(list(Ready.objects.values_list("id", flat=True))[::40])

    def handle(delivery: Delivery) -> None:
        if delivery.message_id in wrong:
            raise ValueError("no such customer")

    seen = Seen(handle)
    with running(handler(seen, join=False, concurrency=8)):
        until(lambda: not Ready.objects.exclude(queue_id=graves()).exists())
        until(lambda: not Claim.objects.exists())

    times = Counter(one.message_id for one in seen.deliveries)
    assert times == {one: 3 if one in wrong else 1 for one in times}
    assert len(times) == 200
    assert Ready.objects.filter(queue_id=graves()).count() == len(wrong)
    assert fsck.violations() == []
    accepted = [one for one in statements if one.startswith("accept")]
    assert (len(accepted) < 195) is bool(within_ms)


def graves() -> int:
    return Queue.objects.get(name="graves").pk
