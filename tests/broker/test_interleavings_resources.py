"""Auto-created queues, deleted while somebody is about to use them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any, ClassVar

import pytest
from django.db import transaction

from broker.config import auto_create
from broker.errors import NoSuchAddress
from broker.models import Address, DeadLetter, Queue, Ready
from broker.queueing.put import Receipt, put
from broker.settlement.outcomes import BackOut
from broker.transactions.scope import UnitOfWork
from tests.broker.conftest import Explore
from tests.broker.dying import back_out, on
from tests.broker.interleavings import Ending, Scene
from tests.make import NOON

pytestmark = pytest.mark.thorough


class Casualties(Scene):
    """Messages die on "orders", and their address makes "DLQ.orders" for them."""

    settings: ClassVar[dict[str, Any]] = {
        "max_delivery_attempts": 1,
        "dead_letter_address": "casualties",
        "auto_create_dead_letter_resources": True,
    }
    is_there = True  # the queue, before both begin

    def arrange(self) -> None:
        Queue.objects.filter(auto_created=True).delete()
        Address.objects.filter(auto_created=True).delete()
        if self.is_there:
            self.make()

    def make(self) -> None:
        auto_create.ensure("casualties", origin="orders", prefix="DLQ.", suffix="")

    def right(self) -> int:
        """What a scan does to one queue."""
        (queue,) = Queue.objects.filter(auto_created=True)
        delete = partial(auto_create.delete_queue, queue.pk, timedelta(0), NOON)
        return auto_create.undisturbed(delete)

    def lie_there(self, count: int) -> None:
        """That many letters lie on the one queue there is, and nothing elsewhere."""
        (queue,) = Queue.objects.filter(auto_created=True)
        assert (queue.name, queue.address.name) == ("DLQ.orders", "casualties")
        assert Ready.objects.filter(queue_id=queue.pk).count() == count
        assert Ready.objects.count() == count


class MoveAndDelete(Casualties):
    """A letter is moved to the queue while it is idle and a scan looks at it."""

    def arrange(self) -> None:
        super().arrange()
        put("orders", now=NOON)
        self.work = UnitOfWork(now=NOON)
        self.work.get("orders")

    def left(self) -> object:
        return self.work.back_out(BackOut("no such customer", spread=0))

    def check(self, left: Ending, right: Ending) -> None:
        assert (left.error, right.error) == (None, None)
        self.lie_there(1)
        assert DeadLetter.objects.count() == 1


@pytest.mark.spec("AUTODL-7")
def test_no_queue_is_deleted_under_a_letter_that_is_moved_there(
    explore: Explore,
) -> None:
    outcomes = {schedule.endings[1].result for schedule in explore(MoveAndDelete)}
    assert outcomes == {0, 1}, "the scan comes first, or too late"


class MakeAndMake(Casualties):
    """Two are the first at once."""

    is_there = False

    def left(self) -> None:
        with transaction.atomic():
            self.make()

    right = left  # type: ignore[assignment]

    def check(self, left: Ending, right: Ending) -> None:
        assert (left.error, right.error) == (None, None)
        self.lie_there(0)


@pytest.mark.spec("AUTODL-1", "AUTODL-4")
def test_two_first_casualties_at_once_make_one_queue(explore: Explore) -> None:
    explore(MakeAndMake)


class MakeAndDelete(Casualties):
    """An address that feeds nothing any more is about to get a queue."""

    is_there = False

    def arrange(self) -> None:
        super().arrange()
        Address.objects.create(name="casualties", auto_created=True)

    def left(self) -> None:
        with transaction.atomic():
            self.make()

    def right(self) -> int:
        return auto_create.undisturbed(auto_create.delete_addresses)

    def check(self, left: Ending, right: Ending) -> None:
        assert (left.error, right.error) == (None, None)
        self.lie_there(0)


@pytest.mark.spec("AUTODL-7")
def test_no_address_is_deleted_under_a_queue_that_it_is_given(explore: Explore) -> None:
    explore(MakeAndDelete)


class PutAndDelete(Casualties):
    """Somebody sends to the queue while it is idle and a scan looks at it."""

    def left(self) -> Receipt | None:
        sent = {"_AMQ_ORIG_ADDRESS": "orders"}
        try:
            return put("casualties", properties=sent, now=NOON)
        except NoSuchAddress:
            return None

    def check(self, left: Ending, right: Ending) -> None:
        assert (left.error, right.error) == (None, None)
        if left.result is None or not left.result.queue_ids:
            assert not Ready.objects.exists(), "its sender was told"
        else:
            self.lie_there(1)


@pytest.mark.spec("AUTODL-7")
def test_no_queue_is_deleted_under_a_message_that_is_sent_there(
    explore: Explore,
) -> None:
    explore(PutAndDelete)


class BackOutAndDelete(Casualties):
    """The only letter is in a consumer's hands, and comes back."""

    def arrange(self) -> None:
        super().arrange()
        put("orders", now=NOON)
        back_out()
        self.work = UnitOfWork(now=NOON)
        self.work.get("DLQ.orders")

    def left(self) -> object:
        return self.work.back_out(BackOut("not now", spread=0))

    def check(self, left: Ending, right: Ending) -> None:
        assert (left.error, right.error) == (None, None)
        self.lie_there(1)
        assert len(on("DLQ.orders")) == 1


@pytest.mark.spec("AUTODL-7")
def test_what_a_consumer_holds_keeps_its_queue(explore: Explore) -> None:
    explore(BackOutAndDelete)
