"""A link that runs: its states, its failures in a row, its processes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import OperationalError, connection
from django.db.transaction import atomic

from broker.bridges import commands, retries
from broker.bridges.process import BridgeRunner
from broker.bridges.providers import local
from broker.bridges.runner import Runner
from broker.bridges.states import Command
from broker.bridges.ways.here import Here
from broker.models import (
    BridgeProcess,
    Claim,
    Link,
    LinkState,
    LinkStatus,
    Owner,
    Queue,
    UnitOfWork,
)
from broker.queueing.processes import LOCK_CLASS
from broker.queueing.put import NewMessage, put, put_many
from tests.broker.bridges.linking import dead, make_link, make_queues, status, taken
from tests.broker.bridges.running import (
    SCRIPT,
    bridge_process,
    until_sent,
    until_state,
)
from tests.broker.elsewhere import Background, process
from tests.console.until import until
from tests.make import make_setting

# Ends the sessions by which processes are known to be alive.
LOSE = """
    SELECT pg_terminate_backend(held.pid) FROM pg_locks AS held
    JOIN pg_database AS it ON it.oid = held.database AND datname = current_database()
    WHERE locktype = 'advisory' AND classid = %s
"""
STARTED, PAUSED, STOPPED = LinkState.STARTED, LinkState.PAUSED, LinkState.STOPPED


@pytest.fixture(autouse=True)
def _queues(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_S", 0.01)
    make_queues("orders", "booked")


@contextmanager
def running() -> Iterator[BridgeRunner]:
    """The bridge in a thread of this process."""
    bridge = BridgeRunner()
    background = Background(bridge.run)
    try:
        yield bridge
    finally:
        bridge.stop()
        background.join()


def new_link(name: str = "out", **fields: object) -> Link:
    """One that nobody has run yet."""
    link = make_link(name, **fields)  # type: ignore[arg-type]
    LinkStatus.objects.filter(link=link).delete()
    LinkStatus.objects.create(link=link)
    return link


def order(link: Link, command: Command) -> bool:
    return commands.command(commands.link_of(link.bridge.name, link.name), command)


@pytest.mark.spec("BRIDGE-17", "BRIDGE-18")
def test_a_link_starts_with_its_bridge_and_obeys_commands() -> None:
    link = new_link()
    put("orders", b"one")
    with running():
        until_sent(link, 1)
        assert status(link).state == STARTED

        assert order(link, Command.PAUSE)
        until_state(link, PAUSED)
        put("orders", b"two")
        assert not order(link, Command.PAUSE)

        assert order(link, Command.RESUME)
        until_sent(link, 2)

        assert order(link, Command.STOP)
        until_state(link, STOPPED)
        put("orders", b"three")
        assert not order(link, Command.STOP)

        assert order(link, Command.START)
        until_sent(link, 3)
    assert [one.body for one in taken("booked")] == [b"one", b"two", b"three"]
    assert status(link).state == STOPPED
    assert status(link).wanted == STARTED  # it goes on with the next process


@pytest.mark.spec("BRIDGE-17")
def test_a_command_that_is_taken_back_at_once_keeps_the_link_in_its_state() -> None:
    link = new_link()
    with running():
        until_state(link, STARTED)
        with atomic():  # the bridge never sees the first of the two
            assert order(link, Command.PAUSE)
            assert order(link, Command.RESUME)
        until_state(link, STARTED)

        order(link, Command.PAUSE)
        until_state(link, PAUSED)
        with atomic():
            assert order(link, Command.RESUME)
            assert order(link, Command.PAUSE)
        until_state(link, PAUSED)


@pytest.mark.thorough
def test_how_much_waits_is_known_of_links_that_carry_nothing() -> None:
    make_queues("bills", "prices")
    paused, stopped = new_link(), new_link("other", source="bills")
    failed = new_link("third", source="prices", target="nowhere")
    with running():
        until_state(paused, STARTED)
        until_state(stopped, STARTED)
        order(paused, Command.PAUSE)
        order(stopped, Command.STOP)
        for link in (stopped, failed):
            until_state(link, STOPPED)
        until_state(paused, PAUSED)
        for name in ("orders", "bills", "prices"):
            put(name, b"one")
        for link in (paused, stopped, failed):
            until(lambda link=link: status(link).waiting == 1)  # type: ignore[misc]
            assert status(link).oldest_at is not None


@pytest.mark.spec("BRIDGE-17")
def test_a_disabled_link_is_not_started() -> None:
    link = new_link(enabled=False)
    other = new_link("other", source="booked", target="orders")
    put("booked", b"one")
    put("orders", b"stays")
    with running():
        until_sent(other, 1)
    assert status(link).state == LinkState.UNINITIALIZED


@pytest.mark.spec("BRIDGE-10", "BRIDGE-18")
def test_a_command_read_before_a_link_gave_up_does_not_start_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bridge may read the link's row just before the link gives up."""
    Queue.objects.filter(name="booked").update(max_message_bytes=3)
    put("orders", b"too long")
    link = new_link()

    def give_up_beside_the_bridge(runner: Runner, why: str) -> None:
        gave_up(runner, why)
        runner.want(STARTED, STARTED)

    gave_up = Runner.give_up
    monkeypatch.setattr(Runner, "give_up", give_up_beside_the_bridge)
    with running():
        until_state(link, STOPPED)

    assert [one.backout_count for one in taken("orders")] == [6]
    assert status(link).wanted == STOPPED


@pytest.mark.spec("BRIDGE-10", "UNIFY-14")
def test_the_sixth_failure_in_a_row_stops_a_transacted_link() -> None:
    Queue.objects.filter(name="booked").update(max_message_bytes=3)
    for body in (b"one", b"too long", b"two"):
        put("orders", body)
    link = new_link()
    with running():
        until_state(link, STOPPED)

    assert [one.body for one in taken("booked")] == [b"one"]
    assert [(one.body, one.backout_count) for one in taken("orders")] == [
        (b"too long", 6),
        (b"two", 0),
    ]
    assert dead() == []
    found = status(link)
    assert found.failures == 6
    assert "failed 6 times in a row" in found.error
    assert "max" in found.error or "bytes" in found.error


@pytest.mark.spec("BRIDGE-10", "UNIFY-14")
def test_a_success_ends_the_failures_and_the_source_s_own_limit_counts() -> None:
    """The source gives a message twice; then it is a dead letter, and the link goes
    on."""
    make_queues("DLQ")
    make_setting("orders", max_delivery_attempts=2, dead_letter_address="DLQ")
    Queue.objects.filter(name="booked").update(max_message_bytes=3)
    for body in (b"too long", b"two"):
        put("orders", body)
    link = new_link()
    with running():
        until_sent(link, 1)
        until(lambda: status(link).failures == 0)
    assert [one.body for one in taken("DLQ")] == [b"too long"]
    assert [one.body for one in taken("booked")] == [b"two"]


def test_a_link_that_cannot_work_says_why_and_stops() -> None:
    put("orders", b"one")
    link = new_link(target="nowhere")
    with running():
        until_state(link, STOPPED)
    assert "no address 'nowhere'" in status(link).error
    assert [one.body for one in taken("orders")] == [b"one"]


def test_a_link_of_a_process_that_is_killed_is_taken_over_within_five_seconds() -> None:
    link = new_link()
    with bridge_process() as first, bridge_process() as second:
        until_state(link, STARTED)
        owners = {
            pid: other
            for other in (first, second)
            if (pid := other.pid) == owner_pid(link)
        }
        (runs,) = owners.values()
        epoch = status(link).epoch
        os.kill(runs.pid, signal.SIGKILL)
        put("orders", b"after")
        until_sent(link, 1, seconds=5)
        assert status(link).epoch == epoch + 1
    assert [one.body for one in taken("booked")] == [b"after"]


@pytest.mark.thorough
def test_a_frozen_process_that_wakes_does_no_harm() -> None:
    link = new_link()
    with bridge_process() as first, bridge_process() as second:
        until_state(link, STARTED)
        (runs,) = [one for one in (first, second) if one.pid == owner_pid(link)]
        os.kill(runs.pid, signal.SIGSTOP)
        for number in range(50):
            put("orders", b"%d" % number)
        until_sent(link, 50, seconds=10)
        os.kill(runs.pid, signal.SIGCONT)
        for number in range(50, 100):
            put("orders", b"%d" % number)
        until_sent(link, 100, seconds=10)
        until(lambda: not held(runs.pid))
    assert [one.body for one in taken("booked")] == [b"%d" % n for n in range(100)]


FREEZES = """
import signal, time
from broker.bridges.ways.here import UnitOfWork
carry_out = UnitOfWork.carry_out
def freeze(self):
    carry_out(self)
    UnitOfWork.carry_out = carry_out
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(0.1)  # the signal may stop another thread first
UnitOfWork.carry_out = freeze
"""


@pytest.mark.thorough
def test_a_process_that_is_frozen_in_a_transaction_is_not_waited_for() -> None:
    """The healthy one goes on with its own links, takes the other's over, and keeps
    them when the frozen one wakes, whose transaction changes nothing."""
    link = new_link()
    with process(FREEZES + SCRIPT) as first:
        until_state(link, STARTED)
        put_many([NewMessage("orders", b"one %d" % n) for n in range(3)])
        until(lambda: is_stopped(first.pid))
        with bridge_process() as second:
            began = time.monotonic()
            put_many([NewMessage("orders", b"two %d" % n) for n in range(3)])
            until_sent(link, 6, seconds=5)
            assert time.monotonic() - began < 5
            assert owner_pid(link) == second.pid
            assert BridgeProcess.objects.count() == 1

            first.send_signal(signal.SIGCONT)
            until(lambda: BridgeProcess.objects.count() == 2)
            put_many([NewMessage("orders", b"three %d" % n) for n in range(3)])
            until_sent(link, 9)
            assert owner_pid(link) == second.pid
            assert status(link).epoch == 2
    expected = [b"%s %d" % (w, n) for w in (b"one", b"two", b"three") for n in range(3)]
    assert [one.body for one in taken("booked")] == expected


def is_stopped(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "T"


def test_what_was_got_before_the_database_was_away_keeps_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The process lives on under another id; what the first one held is taken back."""

    def crash(*_: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(LOSE, [LOCK_CLASS])
        raise OperationalError

    def still_away(*_: object) -> None:
        monkeypatch.undo()
        raise OperationalError

    link = new_link()
    monkeypatch.setattr(Here, "commit", crash)
    monkeypatch.setattr(local, "give_back", still_away)
    put("orders", b"one")
    with running():
        until(lambda: Claim.objects.exists())
        put("orders", b"two")
        until_sent(link, 2)
    assert [bytes(one.body) for one in taken("booked")] == [b"one", b"two"]


def owner_pid(link: Link) -> int:
    owner_id = status(link).owner_id
    assert owner_id is not None
    return int(Owner.objects.get(pk=owner_id).pid)


def held(pid: int) -> bool:
    """Whether a process still holds entries."""
    owners = Owner.objects.filter(pid=pid).values("id")
    units = UnitOfWork.objects.filter(owner_id__in=owners).values("id")
    return os.getpid() != pid and Claim.objects.filter(uow__in=units).exists()
