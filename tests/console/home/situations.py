"""What can be wrong, made with real data: a situation for each condition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.conf import settings as configured
from django.contrib.auth.models import User
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from broker.bridges.config import edits
from broker.models import AddressSetting, Approval, Bridge, Stoppage
from broker.models import UnitOfWork as UnitRow
from broker.monitoring import disk, silent_processes
from broker.monitoring.disk import Disk
from broker.problems.problem import Name
from broker.queueing.put import put, put_many
from broker.transactions.prepared import prepare
from broker.transactions.scope import UnitOfWork
from dashboards.models import ReportRun
from dashboards.reports import nightly
from tests.broker.bridges.making import factory
from tests.console.bridging import fail, make_branch, make_link
from tests.console.letters import die, make_places
from tests.make import make_messages, make_queue, plan_resubmit, seconds

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Situation:
    """How a condition comes about, and what it is then found to be."""

    make: Callable[[Patch], object]
    found: Mapping[str, int]  # a subject that ends with … is the begin of one
    rule: Mapping[str, Any] = field(default_factory=dict)


def ago(**span: float) -> Any:
    return timezone.now() - timedelta(**span)


def stopped(_: Patch) -> None:
    queue = make_queue()
    Stoppage.objects.create(queue=queue, message_id=1, reason=2085, why="no queue")


def failed(_: Patch) -> None:
    fail(make_link(), "refused")


def in_doubt(_: Patch) -> None:
    link = make_link()
    for number in range(2):
        make_branch(link, f"bk:7:{number}", began_at=ago(minutes=9))


def dying(_: Patch, **span: float) -> None:
    make_places(attempts=1)
    for _n in range(2):
        die(attempts=1, now=ago(**span))


def waiting(_: Patch) -> None:
    make_queue()
    put_many(make_messages(3), now=ago(minutes=42))


def late(_: Patch) -> None:
    make_queue()
    put("orders", deliver_at=ago(minutes=1), now=ago(hours=1))


def lost(_: Patch) -> None:
    make_queue()
    put_many(make_messages(2))
    UnitOfWork().get("orders", 2)
    UnitRow.objects.update(owner_id=2**31 - 1)


def paused(_: Patch) -> None:
    make_queue(paused=True)
    put("orders")


def approval(_: Patch) -> None:
    make_places(attempts=1)
    die(attempts=1, now=ago(hours=5))
    plan = plan_resubmit(User.objects.get(), "all")
    Approval.objects.create(operation=plan, expires_at=ago(hours=-4))


def at_work(patch: Patch) -> None:
    """Somebody has claimed one."""
    waiting(patch)
    UnitOfWork().get("orders")


def prepared(_: Patch) -> None:
    make_queue()
    put("orders")
    work = UnitOfWork(coordinated=True)
    work.get("orders")
    prepare(work, "xid")


def full(patch: Patch) -> None:
    patch.setattr(disk, "look", lambda: Disk("/disk", 100, 9))


def silent(patch: Patch) -> None:
    kept = silent_processes.silent
    patch.setattr(silent_processes, "silent", lambda: kept(seconds(0)))


def password(_: Patch) -> None:
    edits.save(bridge := Bridge(name="bridge"))
    edits.save(factory(bridge, "mq", "amqp", username="shop"), password="s3same")


def misconfigured(_: Patch) -> None:
    AddressSetting.objects.create(match="zero", max_delivery_attempts=0)


def overdue(_: Patch) -> None:
    MigrationRecorder.Migration.objects.update(applied=ago(days=3))


def requested(_: Patch) -> None:
    ReportRun.objects.create(
        report="debt", state=ReportRun.State.WAITING, requested_at=ago(minutes=2)
    )


def no_group(patch: Patch) -> None:
    patch.setattr(configured, "BACKOUT_SECOND_FACTOR_GROUPS", ["administrators"])


SITUATIONS = {
    Name.STOPPED: Situation(stopped, {"orders": 1}),
    Name.LINK: Situation(failed, {"shop/out": 1}),
    Name.IN_DOUBT: Situation(in_doubt, {"shop/out": 2}),
    Name.GROWTH: Situation(partial(dying, minutes=5), {"orders → DLQ …": 2}),
    Name.NEW_CAUSE: Situation(partial(dying, minutes=5), {"orders → DLQ …": 2}),
    Name.NOT_CONSUMED: Situation(waiting, {"orders": 3}),
    Name.LATE: Situation(late, {"orders": 1}),
    Name.UNIT: Situation(lost, {"unit of work …": 2}),
    Name.PAUSED: Situation(paused, {"orders": 1}),
    Name.APPROVAL: Situation(approval, {"operation …": 1}),
    Name.AGE: Situation(at_work, {"orders": 2520}, {"threshold": 60}),
    Name.DEPTH: Situation(at_work, {"orders": 3}, {"threshold": 3}),
    Name.PREPARED: Situation(prepared, {"prepared": 1}),
    Name.DEAD_LETTERS: Situation(partial(dying, hours=5), {"DLQ": 2}),
    Name.DISK: Situation(full, {"/disk": 91}),
    Name.SILENT: Situation(silent, {"dispatcher …": 1}),
    Name.PASSWORD: Situation(password, {"bridge: mq": 1}),
    Name.SETTINGS: Situation(misconfigured, {"zero attempts-of-zero": 1}),
    Name.REPORTS: Situation(overdue, {"reports": len(nightly())}),
    Name.UNATTENDED: Situation(requested, {"Reports": 1}),
    Name.GROUP: Situation(no_group, {"administrators": 1}),
}
