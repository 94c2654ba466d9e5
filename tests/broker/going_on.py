"""Operations that go on in tests: from ten past noon, with a pace and a canary."""

from __future__ import annotations

from broker import operations
from broker.models import Operation, OperationSchedule
from broker.operations import canary as canaries
from broker.operations.canary import Halt
from broker.transactions.scope import UnitOfWork
from tests.broker.dying import plan
from tests.make import NOON, minutes, seconds

START = NOON + minutes(10)


def begun(canary: int = 0, pace: int | None = None) -> Operation:
    """All dead letters, from ten past noon on."""
    planned = plan()
    operations.arrange(planned.pk, pace=pace, canary=canary)
    return operations.start(planned.pk, now=START)


def schedule_of(operation: Operation) -> OperationSchedule:
    return OperationSchedule.objects.get(pk=operation.pk)


def step(operation: Operation, after: float = 1) -> int:
    """Some seconds after the start."""
    return operations.step(operation.pk, now=START + seconds(after))


def process(limit: int = 100) -> None:
    """A consumer takes what is there, and comes to a good end."""
    work = UnitOfWork(now=START + seconds(1))
    work.get("orders", limit)
    work.commit()


def halt_of(operation: Operation) -> Halt:
    schedule = schedule_of(operation)
    assert schedule.stage == OperationSchedule.Stage.HALTED
    assert schedule.halt
    return canaries.read(schedule.halt)
