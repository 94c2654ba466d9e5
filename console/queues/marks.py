"""Marks on the time axis of charts: what people did, and processes that started.

Users see the operations and the queue's history that other pages show them, too;
changes of settings need the permission to read the audit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils.translation import gettext, gettext_noop

from broker.acts.operations.rights import visible_operations
from broker.formats import wildcards
from broker.models import Act, AuditRecord, Operation, OperationItem, Owner, Queue
from broker.security import authorities
from broker.security.audit import AuditFilter, found
from console.audit.history import ON_IT
from console.edges.permissions import AUDIT

MOST = 30  # marks of each kind
DONE = AuditRecord.Outcome.DONE
# Acts that change what queues do. They are marked on the charts of all queues.
SETTINGS = {Act.CREATE, Act.CHANGE, Act.DELETE}
OF_ALL = {*SETTINGS, Act.PAUSE, Act.RESUME, Act.START_DELIVERY, Act.SWITCH_RULES}
# Kinds of objects whose settings change what queues do.
OF_QUEUES = ("queue", "address", "address setting")
PROCESSES = {  # kinds of processes, and what is said when one started
    "dispatcher": gettext_noop("Dispatcher %(pid)s on %(host)s started"),
    "worker": gettext_noop("Worker %(pid)s on %(host)s started"),
    "listener": gettext_noop("Listener %(pid)s on %(host)s started"),
    "bridge": gettext_noop("Bridge %(pid)s on %(host)s started"),
}
STARTED = gettext_noop("Operation %(number)s (%(kind)s) started")
ENDED = gettext_noop("Operation %(number)s (%(kind)s) ended")


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that may be the reason for a change of the numbers."""

    at: datetime
    words: str
    url: str = ""


def between(
    user: authorities.Principal,
    begin: datetime,
    end: datetime,
    *,
    queue: Queue | None = None,
) -> list[Mark]:
    """The marks of a range of time, the newest first.

    Args:
        user: whoever sees them.
        begin: where the range begins.
        end: where it ends.
        queue: only marks that concern this queue; None: all queues.
    """
    every = [
        *of_operations(user, begin, end, queue),
        *of_records(user, begin, end, queue),
        *of_processes(begin, end),
    ]
    return sorted(every, key=lambda one: one.at, reverse=True)


def of_operations(
    user: authorities.Principal,
    begin: datetime,
    end: datetime,
    queue: Queue | None,
) -> Iterator[Mark]:
    """Operations that started or ended."""
    span = (begin, end)
    recent = Operation.objects.filter(
        Q(started_at__range=span) | Q(ended_at__range=span)
    ).order_by("-pk")[:MOST]
    every = visible_operations(user).filter(pk__in=[one.pk for one in recent])
    if queue is not None:
        items = OperationItem.objects.filter(operation=OuterRef("pk"))
        on_it = Q(queue_id=queue.pk) | Q(target=queue.name)
        every = every.filter(Exists(items.filter(on_it)))
    for one in every:
        url = reverse("console:operation", args=[one.pk])
        values = {"number": one.pk, "kind": one.get_kind_display()}
        for at, text in ((one.started_at, STARTED), (one.ended_at, ENDED)):
            if at is not None and begin <= at <= end:
                yield Mark(at, gettext(text) % values, url)


def of_records(
    user: authorities.Principal,
    begin: datetime,
    end: datetime,
    queue: Queue | None,
) -> Iterator[Mark]:
    """What people did to the queue, or to the settings of any."""
    is_auditor = isinstance(user, User | AnonymousUser) and user.has_perm(AUDIT)
    for one in concerning(queue, begin, end, is_auditor=is_auditor)[:MOST]:
        url = reverse("console:audit_record", args=[one.pk]) if is_auditor else ""
        did = f"{one.actor} {gettext(one.words)} {one.object_name}"
        yield Mark(one.at, did.strip(), url)


def concerning(
    queue: Queue | None, begin: datetime, end: datetime, *, is_auditor: bool
) -> list[AuditRecord]:
    records = found(AuditFilter(outcome=DONE, since=begin, until=end))
    if queue is None:
        rows = records.filter(act__in=OF_ALL, object_kind__in=OF_QUEUES)
        return list(rows[:MOST]) if is_auditor else []
    own = records.filter(
        object_kind="queue", object_id=str(queue.pk), object_name=queue.name
    )
    listed = list(own.filter(act__in=ON_IT)[:MOST])
    if is_auditor:
        rows = records.filter(act__in=SETTINGS, object_kind="address setting")
        listed += matching(rows[:MOST], queue.address.name)
    return listed


def matching(records: Iterable[AuditRecord], address: str) -> list[AuditRecord]:
    """Records of settings that an address has."""
    syntax = wildcards.configured()
    return [
        one for one in records if wildcards.matches(one.object_name, address, syntax)
    ]


def of_processes(begin: datetime, end: datetime) -> Iterator[Mark]:
    """Processes that started, and still run: after a deployment, all of them."""
    rows = Owner.objects.filter(kind__in=PROCESSES, started_at__range=(begin, end))
    for one in rows.order_by("-started_at")[:MOST]:
        words = gettext(PROCESSES[one.kind]) % {"pid": one.pid, "host": one.host}
        yield Mark(one.started_at, words, reverse("console:consumers"))
