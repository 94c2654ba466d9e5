"""A bridge process, which runs links. There may be several; each link has one.

A process that takes a link over raises its epoch; the fence then undoes what the
previous one still does here. A process that dies frees its lock at once; one that hangs
is detected by its missing heartbeats, and its sessions with the database are ended.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import Error as DatabaseError
from django.db import close_old_connections, connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from broker import sql
from broker.bridges.configured import is_here
from broker.bridges.providers import local
from broker.bridges.providers.registry import HERE
from broker.bridges.runner import Runner
from broker.errors import LockLost
from broker.models import (
    BridgeDestination,
    BridgeProcess,
    Claim,
    DeadMessageQueue,
    Link,
    LinkState,
    LinkStatus,
    Queue,
    UnitOfWork,
)
from broker.queueing import processes
from broker.settlement import settle
from broker.sql import fencing

logger = logging.getLogger(__name__)

EVERY_S = 0.5
# Seconds between two rounds while there is no link.
IDLE_S = 2.0
LOOK = timedelta(seconds=5)  # time between two counts of the messages at a source
LOOK_THEMSELVES = (LinkState.STARTED, LinkState.PAUSED)
# A process without a heartbeat for this long counts as hanging.
SILENCE = timedelta(seconds=3)
LEFT = "The process that ran the link ended or hung before it settled the message."


class BridgeRunner:
    """The links that this process runs."""

    def __init__(self) -> None:
        self.stopping = threading.Event()
        self.runners: dict[int, Runner] = {}  # by link id
        self.named = 0  # owner id in the names of this process's sessions

    def run(self) -> None:
        """Run until ``stop``; continue after the database was away."""
        while not self.stopping.is_set():
            pause_s = EVERY_S
            try:
                if Link.objects.exists() or self.runners:
                    self.step()
                else:
                    self.live()
                    pause_s = IDLE_S
            except DatabaseError as error:
                logger.warning("The bridge waits for the database: %s", error)
                close_old_connections()
            self.stopping.wait(pause_s)
        self.leave()

    def stop(self) -> None:
        """Stop after each link's current message, so that another process can
        continue."""
        self.stopping.set()

    def leave(self) -> None:
        for runner in self.runners.values():
            runner.leave()
        for runner in self.runners.values():
            runner.thread.join()
        with suppressed():
            BridgeProcess.objects.filter(owner_id=processes.current("bridge")).delete()
        processes.resign()
        fencing.name_sessions(None)
        connection.close()

    def step(self) -> None:
        """One round: heartbeat, apply commands, take over links without a process."""
        me = self.live()
        over = [link_id for link_id, one in self.runners.items() if one.is_over]
        for link_id in over:
            del self.runners[link_id]
        start_new_links()
        statuses = list(LinkStatus.objects.exclude(wanted=""))
        # Read after the statuses, as this process may hang in between: each owner in
        # the statuses was registered before, and is found here if it is alive.
        alive = living(me)
        for status in statuses:
            runner = self.runners.get(status.link_id)
            if runner is not None and status.epoch == runner.epoch:
                runner.want(LinkState(status.wanted), status.state)
            elif status.wanted == LinkState.STOPPED:
                settle_stop(status)
            elif status.owner_id not in alive or status.owner_id == me:
                with suppressed():  # an error must not keep other links waiting
                    self.take_over(status, me)
        look_at_others()

    def live(self) -> int:
        """Write the heartbeat; return this process's owner id."""
        is_new = processes.renew("bridge")
        me = processes.current("bridge")
        if is_new or me != self.named:
            fencing.name_sessions(me)
            self.named = me
        BridgeProcess.objects.bulk_create(
            [BridgeProcess(owner_id=me, heartbeat_at=Now())],
            update_conflicts=True,
            unique_fields=["owner_id"],
            update_fields=["heartbeat_at"],
        )
        return me

    def take_over(self, status: LinkStatus, me: int) -> None:
        """Take over a link whose process is gone, unless another process is faster.

        It never waits for the row of the link: a process that hangs may hold it.
        """
        link = (
            Link.objects.select_related(
                "bridge", "source_factory__bridge", "target_factory__bridge"
            )
            .select_related("source__bridge", "target__bridge")
            .get(pk=status.link_id)
        )
        if not link.enabled:
            return
        with transaction.atomic():
            ours = LinkStatus.objects.filter(pk=status.pk, epoch=status.epoch)
            if not ours.select_for_update(skip_locked=True).exists():
                return
            ours.update(epoch=F("epoch") + 1, owner_id=me)
            if status.owner_id is not None:
                take_back(link, status.owner_id)
        queues = DeadMessageQueue.objects.filter(bridge=link.bridge, enabled=True)
        runner = Runner(
            link,
            status.epoch + 1,
            list(queues.select_related("factory", "destination")),
            LinkState(status.wanted),
            owner_id=me,
        )
        runner.carrier.batch_number = status.batch_number
        self.runners[link.pk] = runner
        runner.start()


def start_new_links() -> None:
    """Start enabled links that never had a command."""
    for link in Link.objects.filter(enabled=True, status__isnull=True):
        LinkStatus.objects.get_or_create(link=link)
    new = LinkStatus.objects.filter(wanted="", link__enabled=True)
    new.update(wanted=LinkState.STARTED, state=LinkState.STARTING)


def settle_stop(status: LinkStatus) -> None:
    """Mark a link as stopped that was commanded to stop and has no process."""
    if status.state == LinkState.STOPPED:
        return
    LinkStatus.objects.filter(pk=status.pk, epoch=status.epoch, owner_id=None).update(
        state=LinkState.STOPPED, changed_at=Now(), failures=0
    )


def look_at_others() -> None:
    """Store how many messages wait at the sources of links that are not connected, if
    their sources are queues of this broker. One query if there is no such link."""
    every = LinkStatus.objects.exclude(state__in=LOOK_THEMSELVES).filter(
        Q(looked_at=None) | Q(looked_at__lte=Now() - LOOK),
        link__source_factory__provider=HERE,
        link__source__kind=BridgeDestination.Kind.QUEUE,
    )
    names = dict(every.values_list("pk", "link__source__name"))
    if not names:
        return
    known = Queue.objects.filter(name__in=set(names.values()))
    queue_ids = dict(known.values_list("name", "pk"))
    lags = local.lags_of(list(queue_ids.values()))
    looked = [
        LinkStatus(pk, waiting=lag.messages, oldest_at=lag.oldest_at, looked_at=Now())
        for pk, name in names.items()
        if (lag := lags.get(queue_ids.get(name, 0)))
    ]
    LinkStatus.objects.bulk_update(looked, ["waiting", "oldest_at", "looked_at"])


def living(me: int) -> set[int]:
    """The processes that are alive: they hold their lock, and their heartbeat is
    recent. Those that hang are ended, and the rows of dead ones deleted."""
    with transaction.atomic():
        dead = set(sql.fetch("dead_owners", int, lock_class=processes.LOCK_CLASS))
    every = set(BridgeProcess.objects.values_list("owner_id", flat=True))
    heard = BridgeProcess.objects.filter(heartbeat_at__gt=Now() - SILENCE)
    alive = {*heard.values_list("owner_id", flat=True), me} - (dead - {me})
    for owner_id in every - alive - dead:
        fencing.end_sessions(owner_id)
    BridgeProcess.objects.filter(owner_id__in=every - alive).delete()
    return alive


def take_back(link: Link, owner_id: int) -> None:
    """Back out what a lost process had got from the link's source.

    The queue's policy decides whether it counts: the message may have killed the
    process. Prepared transactions stay, for the next run to settle.
    """
    if not is_here(link.source_factory):
        return
    ours = UnitOfWork.objects.filter(owner_id=owner_id, xid=None).values("id")
    for uow in set(Claim.objects.filter(uow__in=ours).values_list("uow", flat=True)):
        with suppressed():
            settle.end_lost(uow, LEFT, at_once=True)


@contextmanager
def suppressed() -> Iterator[None]:
    try:
        yield
    except (DatabaseError, LockLost) as error:
        logger.warning("%s", error)
