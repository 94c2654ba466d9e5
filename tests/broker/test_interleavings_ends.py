"""Units of work that end while somebody sweeps, or while their session is killed."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from django.db import connection

from broker.errors import BrokerError, LockLost
from broker.models import Claim, Delayed, Kind, Ready
from broker.models import UnitOfWork as UnitRow
from broker.queueing import delayed, processes
from broker.queueing.put import put_many
from broker.settlement import settle
from broker.settlement.outcomes import BackOut as Failed
from broker.settlement.outcomes import Release
from broker.transactions.scope import UnitOfWork, unit_of_work
from tests.broker.conftest import Explore
from tests.broker.dying import on
from tests.broker.interleavings import Ending, Scene
from tests.broker.test_interleavings import OVERDUE, done, rest
from tests.make import NOON, make_messages, minutes

pytestmark = pytest.mark.thorough


class Held(Scene):
    """One unit of work has got an entry and has an answer to put."""

    def arrange(self) -> None:
        put_many(make_messages(1), now=NOON)
        self.work = UnitOfWork(now=NOON)
        self.got = self.work.get("orders")
        self.work.put("answers")

    def right(self) -> Any:
        return settle.back_out_overdue(limit=10, now=OVERDUE)

    def accepted(self) -> bool:
        """Whether it was accepted, with its put; or else backed out once, without."""
        accepts, puts = done(Kind.ACCEPT), done(Kind.PUT, "answers")
        assert accepts == puts
        assert accepts + done(Kind.BACK_OUT) + done(Kind.DEAD_LETTER) == 1
        assert not UnitRow.objects.exists()
        assert not Claim.objects.exists()
        return accepts == 1


class Accept(Held):
    def left(self) -> None:
        self.work.commit()

    def check(self, left: Ending, right: Ending) -> None:
        assert self.accepted() == (left.error is None) == (right.result == 0)
        assert left.error is None or isinstance(left.error, LockLost)


@pytest.mark.spec("UOW-1", "UOW-7")
def test_an_accept_and_a_sweep_end_a_unit_of_work_once(explore: Explore) -> None:
    explore(Accept)


class AcceptOfPoison(Accept):
    """The sweep finds the attempts used up, and copies the entry away."""

    settings: ClassVar[dict[str, Any]] = {"max_delivery_attempts": 1}

    def check(self, left: Ending, right: Ending) -> None:
        super().check(left, right)
        assert len(on("DLQ")) == done(Kind.DEAD_LETTER) == right.result


@pytest.mark.spec("UOW-1")
def test_an_entry_is_accepted_or_dead_lettered_and_never_both(explore: Explore) -> None:
    explore(AcceptOfPoison)


class AcceptSome(Held):
    """A consumer settles its two entries one by one."""

    def arrange(self) -> None:
        put_many(make_messages(2), now=NOON)
        self.work = UnitOfWork(now=NOON)
        self.got = self.work.get("orders", 2)

    def left(self) -> None:
        self.work.accept(self.got[0])
        self.work.commit()

    def check(self, left: Ending, right: Ending) -> None:
        assert (left.error is None) == (right.result == 0)
        assert done(Kind.ACCEPT) + done(Kind.BACK_OUT) == 2
        assert done(Kind.BACK_OUT) == 0 or isinstance(left.error, LockLost)


@pytest.mark.spec("UOW-1")
def test_what_is_settled_one_by_one_is_not_swept_as_well(explore: Explore) -> None:
    explore(AcceptSome)


class AcceptAndRelease(AcceptSome):
    """Another session has given one of its two entries back."""

    def left(self) -> None:
        self.work.commit()

    def right(self) -> None:
        one = self.got[0]
        settle.settle_some(one.uow, one.queue_id, [one.message_id], Release())

    def check(self, left: Ending, right: Ending) -> None:
        assert {type(one.error) for one in (left, right)} == {type(None), LockLost}
        assert done(Kind.ACCEPT) == (2 if left.error is None else 0)
        assert done(Kind.RELEASE) == (1 if right.error is None else 0)


@pytest.mark.spec("UOW-1")
def test_a_unit_of_work_that_lost_an_entry_is_not_accepted(explore: Explore) -> None:
    explore(AcceptAndRelease)


class BackOut(Held):
    """The application asks for a backout while the system makes one."""

    def left(self) -> None:
        self.work.back_out(Failed("no such customer", spread=0))

    def check(self, left: Ending, right: Ending) -> None:
        assert not self.accepted()
        assert (left.error is None) == (right.result == 0)
        (entry,) = Ready.objects.all()
        assert entry.backout_count == 1


@pytest.mark.spec("UOW-2")
def test_a_backout_and_a_sweep_count_once(explore: Explore) -> None:
    explore(BackOut)


class BackOutOfPoison(BackOut):
    settings: ClassVar[dict[str, Any]] = {"max_delivery_attempts": 1}

    def check(self, left: Ending, right: Ending) -> None:
        assert not self.accepted()
        assert (left.error is None) == (right.result == 0)
        assert len(on("DLQ")) == done(Kind.DEAD_LETTER) == 1


@pytest.mark.spec("UOW-2")
def test_a_backout_and_a_sweep_make_one_dead_letter(explore: Explore) -> None:
    explore(BackOutOfPoison)


class BackOutAndWake(Held):
    """What was backed out waits a second; the worker looks a minute later."""

    settings: ClassVar[dict[str, Any]] = {"redelivery_delay_ms": 1000}

    def left(self) -> None:
        self.work.back_out(Failed("no such customer", spread=0))

    def right(self) -> int:
        return delayed.wake_due(limit=10, now=NOON + minutes(1))

    def check(self, left: Ending, right: Ending) -> None:
        assert not self.accepted()
        assert Ready.objects.count() == right.result
        assert Delayed.objects.count() == 1 - right.result


def test_what_was_backed_out_waits_until_it_is_due(explore: Explore) -> None:
    explore(BackOutAndWake)


class TwoSweeps(Held):
    """Two workers find the same overdue unit of work."""

    def left(self) -> int:
        return settle.back_out_overdue(limit=10, now=OVERDUE)

    def check(self, left: Ending, right: Ending) -> None:
        assert not self.accepted()
        assert left.result + right.result == 1


@pytest.mark.spec("UOW-2")
def test_two_sweeps_count_once(explore: Explore) -> None:
    explore(TwoSweeps)


def terminate(pid: int) -> None:
    """End a session of the server from outside, and wait until it is gone."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s)", [pid])
    there = "SELECT FROM pg_stat_activity WHERE pid = %s"
    raw = connection.connection  # past the steps
    for _ in iter(lambda: raw.execute(there, [pid]).fetchone(), None):
        pass


def terminate_owner() -> None:
    """Let the database take this process for dead."""
    assert processes._current is not None
    terminate(processes._current.session.info.backend_pid)


class CommitAndKill(Held):
    """The connection dies in a commit or before its answer; then the sweep comes."""

    loses_answers = True

    def left(self) -> None:
        self.work.commit()

    def right(self) -> int:
        terminate(self.left_pid)
        terminate_owner()
        return settle.back_out_overdue(limit=10, now=NOON)

    def check(self, left: Ending, right: Ending) -> None:
        accepted = self.accepted()
        if left.error is None:
            assert accepted
        elif isinstance(left.error, BrokerError):  # which claims to know
            assert not accepted
        assert rest() == ([] if accepted else [b"1"])


@pytest.mark.spec("UOW-1")
def test_a_commit_that_is_killed_is_made_whole_or_not_at_all(explore: Explore) -> None:
    explore(CommitAndKill)


class CommitOfPutsAndKill(CommitAndKill):
    """Nothing was got, so that no unit of work tells afterwards what became of it."""

    def arrange(self) -> None:
        self.work = UnitOfWork(now=NOON)
        self.work.put("answers")

    def right(self) -> int:
        terminate(self.left_pid)
        return 0

    def check(self, left: Ending, right: Ending) -> None:
        sent = done(Kind.PUT, "answers")
        assert (
            sent == 1 if left.error is None else not isinstance(left.error, BrokerError)
        )


@pytest.mark.spec("UOW-1", "UOW-8")
def test_a_commit_whose_answer_is_lost_is_not_said_to_be_backed_out(
    explore: Explore,
) -> None:
    explore(CommitOfPutsAndKill)


class CommitAndLostLock(CommitAndKill):
    """The process lives, and only the connection of its lock is gone."""

    loses_answers = False

    def right(self) -> int:
        terminate_owner()
        return settle.back_out_overdue(limit=10, now=NOON)

    def check(self, left: Ending, right: Ending) -> None:
        assert self.accepted() == (left.error is None)
        super().check(left, right)


@pytest.mark.spec("UOW-1")
def test_a_commit_of_a_process_taken_for_dead_is_refused_or_stands(
    explore: Explore,
) -> None:
    explore(CommitAndLostLock)


class BackOutAndKill(CommitAndKill):
    def left(self) -> None:
        self.work.back_out(Failed("no such customer", spread=0))

    def check(self, left: Ending, right: Ending) -> None:
        assert not self.accepted()
        (entry,) = Ready.objects.all()
        assert entry.backout_count == 1


@pytest.mark.spec("UOW-2")
def test_a_backout_that_is_killed_counts_once_all_the_same(explore: Explore) -> None:
    explore(BackOutAndKill)


class SweepAndKill(Held):
    """A worker dies in its sweep, and the next one does it again."""

    def left(self) -> int:
        return settle.back_out_overdue(limit=10, now=OVERDUE)

    def right(self) -> int:
        terminate(self.left_pid)
        return settle.back_out_overdue(limit=10, now=OVERDUE)

    def check(self, left: Ending, right: Ending) -> None:
        assert not self.accepted()
        assert (left.result or 0) + right.result == 1


@pytest.mark.spec("UOW-2", "UOW-7")
def test_a_sweep_that_is_killed_is_done_by_the_next(explore: Explore) -> None:
    explore(SweepAndKill)


class JoinedAndKill(Scene):
    """A handler's transaction dies with all that it did; nothing is claimed."""

    def arrange(self) -> None:
        put_many(make_messages(1), now=NOON)

    def left(self) -> None:
        with unit_of_work(join=True, now=NOON) as work:
            work.get("orders")
            work.put("answers")

    def right(self) -> None:
        terminate(self.left_pid)

    def check(self, left: Ending, right: Ending) -> None:
        accepts = done(Kind.ACCEPT)
        assert accepts == done(Kind.PUT, "answers") == (left.error is None)
        assert rest() == [b"1"][accepts:]


@pytest.mark.spec("UOW-1")
def test_a_joined_unit_of_work_that_is_killed_leaves_nothing_behind(
    explore: Explore,
) -> None:
    explore(JoinedAndKill)
