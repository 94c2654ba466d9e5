"""Processes that are stopped in the middle: nobody waits for them, and one that wakes
finds that it has lost what it held."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from broker import operations
from broker.alerts import evaluation
from broker.amqp.clients import registry_rows
from broker.housekeeping.housekeeper import Housekeeper
from broker.models import (
    ClientConnection,
    HistoryTotals,
    Operation,
    Queue,
    RecurringMessage,
    UnitOfWork,
)
from broker.monitoring.history import sampling
from broker.monitoring.history.packing import packed
from broker.operations import queue_pause, recurring
from broker.queueing.put import put
from broker.settlement import settle
from broker.transactions import scope
from dashboards.live import publisher, samples
from tests.broker.dying import make_dead_letters, on, plan
from tests.broker.elsewhere import process, said, tell
from tests.broker.handling import accept, handle_next, handler
from tests.console.until import until
from tests.make import make_queue, make_recurring

pytestmark = pytest.mark.thorough

TREE = Path(__file__).resolve().parents[2]
LONGEST_S = 5.0
FROZEN_AT_COMMIT = """
import signal, time
from django.db.backends.base.base import BaseDatabaseWrapper
commit = BaseDatabaseWrapper._commit
def freeze(self):
    BaseDatabaseWrapper._commit = commit
    print("at the end", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.1)  # the signal may stop another thread first
    return commit(self)
BaseDatabaseWrapper._commit = freeze
try:
    {call}
except Exception as error:
    print(type(error).__name__, flush=True)
else:
    print("committed", flush=True)
input()
"""


@dataclass
class Work:
    """What one process at a time does for all.

    Attributes:
        call: how the other process does it; it is frozen before it commits.
        go_on: the same here.
        is_done: whether somebody has done it.
    """

    call: str
    go_on: Callable[[], object]
    is_done: Callable[[], object]


def works() -> dict[str, Work]:
    """Each with something to do."""
    make_queue("orders")
    make_recurring("hourly", every_s=3600, next_at=timezone.now())
    make_queue("paused")
    ended = timezone.now() - timedelta(seconds=1)
    Queue.objects.filter(name="paused").update(paused=True, paused_until=ended)
    make_dead_letters(2, address="bills", queue="bills")
    operation = operations.start(plan().pk, limit=0)
    HistoryTotals.objects.all().delete()
    before = timezone.now() - timedelta(hours=1)
    HistoryTotals.objects.create(at=before, counts=packed(sampling.totals()))
    make_queue("late")
    put("late")
    lost = scope.UnitOfWork()
    assert lost.get("late", 1)
    assert lost.id
    lost_id = lost.id
    UnitOfWork.objects.filter(pk=lost_id).update(deadline=ended)
    samples.memory().delete(publisher.PUBLISHED)
    evaluated: list[bool] = []
    return {
        "recurring": Work(
            "from broker.operations import recurring; recurring.put_due(limit=1)",
            lambda: recurring.put_due(limit=1),
            lambda: RecurringMessage.objects.filter(last_at__isnull=False).exists(),
        ),
        "pause": Work(
            "from broker.operations import queue_pause;"
            " queue_pause.resume_due(limit=1)",
            lambda: queue_pause.resume_due(limit=1),
            lambda: not Queue.objects.get(name="paused").paused,
        ),
        "operation": Work(
            f"from broker import operations; operations.step({operation.pk})",
            lambda: operations.step(operation.pk),
            lambda: Operation.objects.get(pk=operation.pk).state == "done",
        ),
        "history": Work(
            "from broker.monitoring.history import sampling; sampling.sample()",
            sampling.sample,
            lambda: HistoryTotals.objects.filter(at__gt=before).exists(),
        ),
        "overdue": Work(
            "from broker.settlement import settle; settle.back_out_overdue(limit=5)",
            lambda: settle.back_out_overdue(limit=5),
            lambda: not UnitOfWork.objects.filter(pk=lost_id).exists(),
        ),
        "alerts": Work(
            "from broker.alerts import evaluation; evaluation.evaluate()",
            lambda: evaluated.append(evaluation.evaluate()),
            lambda: any(evaluated),
        ),
        "pages": Work(
            "from dashboards.live import publisher; publisher.publish()",
            publisher.publish,
            lambda: samples.memory().get(publisher.PUBLISHED),
        ),
    }


def test_what_a_frozen_process_does_for_all_is_done_by_another_within_five_seconds(
    transactional_db: None,
) -> None:
    every = works()
    with ExitStack() as stack:
        frozen = {
            name: stack.enter_context(process(FROZEN_AT_COMMIT.format(call=one.call)))
            for name, one in every.items()
        }
        for other in frozen.values():
            assert said(other) == "at the end"
        began = time.monotonic()
        left = dict(every)
        while left and time.monotonic() - began < LONGEST_S:
            for name, one in list(left.items()):
                one.go_on()
                if one.is_done():
                    del left[name]
            time.sleep(0.05)
        assert not left
        for other in frozen.values():
            other.send_signal(signal.SIGCONT)
        woken = {name: said(other) for name, other in frozen.items()}
    assert set(woken.values()) == {"InternalError"}  # its session is ended
    assert len(on("bills")) == 2  # each is sent once


HOUSEKEEPING = """
from broker.housekeeping.housekeeper import Housekeeper
with Housekeeper().taken() as mine:
    print(mine, flush=True)
    input()
"""


def test_the_turn_of_a_frozen_housekeeper_is_taken_within_five_seconds(
    transactional_db: None,
) -> None:
    with process(HOUSEKEEPING) as frozen:
        assert said(frozen) == "True"
        frozen.send_signal(signal.SIGSTOP)
        mine = Housekeeper()
        began = time.monotonic()
        mine.start()
        try:
            until(lambda: mine.session)
            assert time.monotonic() - began < LONGEST_S
        finally:
            mine.stop()


LISTENER = """
from broker.amqp.clients import registry_rows as rows
from broker.models import ClientConnection
from broker.queueing import processes
row = ClientConnection(container_id="unique", mechanism="PLAIN", host="elsewhere",
    is_encrypted=False)
print(rows.enter(row, is_alone=True), flush=True)
input()
print(processes.renew(rows.KIND), flush=True)
input()
"""


def test_a_client_of_a_frozen_listener_is_taken_by_another_within_five_seconds(
    transactional_db: None,
) -> None:
    with process(LISTENER) as frozen:
        assert said(frozen) == "True"
        frozen.send_signal(signal.SIGSTOP)

        def is_taken() -> bool:
            row = ClientConnection(
                container_id="unique", mechanism="PLAIN", host="here"
            )
            row.is_encrypted = False
            return registry_rows.enter(row, is_alone=True)

        began = time.monotonic()
        assert not is_taken()
        until(is_taken)
        assert time.monotonic() - began < LONGEST_S
        frozen.send_signal(signal.SIGCONT)
        tell(frozen)
        assert said(frozen) == "True"  # it is another owner when it wakes


FROZEN_HANDLER = """
import signal, time
from broker.client.dispatch.limits import SharedLimits
from tests.broker import handling
def freeze(*of):
    print("frozen", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.1)
    return inner(*of)
inner = {inner}
{inner} = freeze
try:
    handling.handle_next(handling.handler(handling.accept, queue="limited", rate="9/s"))
except Exception as error:
    print(type(error).__name__, flush=True)
else:
    print("accepted", flush=True)
input()
"""


@pytest.mark.parametrize("inner", ["SharedLimits.require", "handling.accept"])
def test_a_handler_of_another_process_goes_on_within_five_seconds(
    transactional_db: None, inner: str
) -> None:
    """One is frozen as it looks at limits, or as it handles a message, which it keeps
    until its deadline. When it wakes, it goes on, too."""
    make_queue("limited")
    for _ in range(2):
        put("limited")
    one = handler(accept, queue="limited", rate="9/s")
    with process(FROZEN_HANDLER.format(inner=inner)) as frozen:
        assert said(frozen) == "frozen"
        began = time.monotonic()
        until(lambda: handle_next(one))
        assert time.monotonic() - began < LONGEST_S
        frozen.send_signal(signal.SIGCONT)
        assert said(frozen) == "accepted"


FENCES_ITSELF = "broker/bridges/process.py"  # it ends the sessions of the one before


def test_whoever_leaves_work_to_others_does_its_own_in_a_short_transaction() -> None:
    """Who skips the locks of a frozen process takes over nothing by itself."""
    skips = re.compile(r"skip_locked=True|pg_try_advisory_xact")
    found = [
        str(path.relative_to(TREE))
        for folder in ("broker", "dashboards", "console")
        for path in sorted((TREE / folder).rglob("*.py"))
        if skips.search(text := path.read_text()) and "short_transaction()" not in text
    ]
    assert found == [FENCES_ITSELF]
