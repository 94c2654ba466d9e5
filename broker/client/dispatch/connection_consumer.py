"""ConnectionConsumers: what the server sessions of one handler share.

A ConnectionConsumer reads its queue's attributes once. It is open while its row exists
and its queue is not stopped.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings

from broker import models
from broker.client.dispatch import stoppages
from broker.client.dispatch.handlers import Handler
from broker.client.dispatch.limits import SharedLimits
from broker.client.dispatch.lookout import Lookout
from broker.client.dispatch.middleware import wrapped
from broker.client.dispatch.undeliverable import selectors_on
from broker.config.names import local_queue
from broker.errors.queues import DeliveryStopped
from broker.formats.selectors.parsing import Selector
from broker.monitoring.busy_time import BusyTime
from broker.queueing import processes
from broker.security import authorities
from broker.settlement.poison import Attributes, attributes_of
from broker.transactions.group_commit import GroupCommit


class ConnectionConsumer:
    """The state shared by the server sessions of one handler in this process."""

    def __init__(self, handler: Handler, queue: models.Queue, user: Any) -> None:
        self.handler = handler
        handle: Any = wrapped(handler.handle, handler.name)
        self.handle = handle
        # The same for a thread, which waits until it has returned.
        self.call = async_to_sync(handle) if handler.is_async else handle
        self.queue = queue
        self.user = user
        self.lock = threading.Lock()
        self.busy = BusyTime(handler.concurrency, time.monotonic())
        self.known: Attributes | None = None
        self.row_id = models.ConnectionConsumer.objects.create(
            owner_id=processes.current(),
            queue=queue,
            handler=handler.name,
            selector=handler.selector,
            retains_unwanted=handler.retain_unwanted,
            server_sessions=handler.concurrency,
            max_running=handler.max_running,
            rate=handler.rate,
        ).pk
        self.limits: SharedLimits | None = None
        if handler.max_running or handler.rate:
            self.limits = SharedLimits(
                queue, handler.name, max_running=handler.max_running, rate=handler.rate
            )
        # Sessions with limits look each for itself, as one that ends frees another.
        self.lookout = None if self.limits else Lookout(queue.pk)
        self.group: GroupCommit | None = None
        if self.may_group():
            self.group = GroupCommit(queue.name, handler.name, handler.concurrency)

    @classmethod
    def open(cls, handler: Handler) -> ConnectionConsumer:
        """Create a connection consumer, with its row in the database.

        Raises:
            NoSuchQueue: its queue does not exist.
            DeliveryStopped: delivery from its queue is stopped.
        """
        queue = local_queue(handler.queue)
        user = handler.principal()
        authorities.require(user, "get", queue.name)
        if queue.stopped:
            stoppage = stoppages.standing().filter(queue=queue).first()
            raise DeliveryStopped(queue.name, stoppage.why if stoppage else "")
        return cls(handler, queue, user)

    def is_open(self) -> bool:
        return models.ConnectionConsumer.objects.filter(
            pk=self.row_id, queue__stopped=False, queue__name=self.queue.name
        ).exists()

    def may_group(self) -> bool:
        """Whether sessions may commit together: there are several, and each gets the
        next message of the queue and handles it outside of a transaction; or they are
        tasks of an event loop, which must not wait for the database."""
        one = self.handler
        if one.is_async:
            return True
        alike = one.batch == 1 and not (one.selector or one.join or self.limits)
        return alike and one.concurrency > 1 and settings.BROKER_SETTLE_WITHIN_MS > 0

    def close(self) -> None:
        if self.group is not None:
            self.group.close()
        models.ConnectionConsumer.objects.filter(pk=self.row_id).delete()

    def attributes(self) -> Attributes:
        """The attributes of the queue; they are read once, at the first use."""
        with self.lock:
            if self.known is None:
                self.known = attributes_of(self.queue.name, user=self.user)
            return self.known

    def other_selectors(self) -> list[Selector] | None:
        """As ``undeliverable.selectors_on``; also None if unwanted messages are
        kept."""
        if self.handler.retain_unwanted or not self.handler.selector:
            return None
        return selectors_on(self.queue)
