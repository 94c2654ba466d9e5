"""Runtime state of a link in one process, from its start to its stop."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property

from django.db import transaction
from django.db.models.functions import Now

from broker.bridges import books, dead_messages, notices
from broker.bridges.batch import Batch, Dead, Notice, Sending
from broker.bridges.books import Counts, Outcome, Role, TransferEntry
from broker.bridges.configured import factory_of, target_of
from broker.bridges.decisions import Decisions
from broker.bridges.providers.interface import Destination, ProviderSession, Received
from broker.bridges.providers.registry import connect
from broker.errors.bridges import LinkTakenOver
from broker.models import DeadMessageQueue, Link, LinkStatus
from broker.queueing.store import Receipt
from broker.sql import database_now

logger = logging.getLogger(__name__)

TAG = "JMS_SUN_JMSBRIDGE_NAME"
# Names of the links that a message went through, separated by commas.
PATH = "x-opt-bridge-path"
LONG_AGO = datetime.min.replace(tzinfo=UTC)
# After a check that a link belongs to this process, no other process takes it over for
# at least this long.
SURE_S = 1.0


@dataclass
class Carrier:
    """State and operations that all ways of transfer share."""

    link: Link
    epoch: int  # the link's epoch in this run, for the fence
    dead_queues: Sequence[DeadMessageQueue] = ()
    stopping: threading.Event = field(default_factory=threading.Event)
    batch_number: int = 0  # number of the last named transaction
    received: int = 0  # number of messages of the last batch
    # Whether a notice was already sent of a message that a transformer refused
    # (NoTransfer). After each start of the link, only the first one is reported.
    told_no_transfer: bool = False
    told_branch: bool = False
    sure_at: float = -math.inf  # when the link was last known to belong to this process
    told: datetime = LONG_AGO  # the database's time at ``sure_at``
    # The last transaction decided here; None if the other provider prepares none.
    decisions: Decisions | None = None
    # Addresses by name of destination.
    addresses: dict[str, str] = field(default_factory=dict)
    # Sessions by id of the dead message queue.
    sessions: dict[int, ProviderSession] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        return str(self.link)

    @cached_property
    def actor(self) -> str:
        """The actor in the journal, and the producer of sent messages."""
        return f"link {self.name}"[:255]

    @cached_property
    def configured_target(self) -> Destination | None:
        return target_of(self.link)

    @cached_property
    def tags(self) -> dict[str, str]:
        """The properties that say through which bridge and link a message came."""
        bridge = self.link.bridge
        tags = {TAG: bridge.name} if bridge.tag_messages else {}
        return {**tags, PATH: self.place} if self.link.loop_guard else tags

    @cached_property
    def place(self) -> str:
        """The unique name of the link for the loop guard."""
        return self.link.key.hex[:16]

    def next_xid(self) -> str:
        """A unique name for the next named transaction."""
        self.batch_number += 1
        return f"{self.xid_prefix}{self.epoch}-{self.batch_number}"

    def keep_number(self) -> None:
        """Store the last batch number, in the open transaction."""
        ours = LinkStatus.objects.filter(link=self.link, epoch=self.epoch)
        ours.update(batch_number=self.batch_number)

    @property
    def xid_prefix(self) -> str:
        """The prefix of the names of this link's transactions."""
        return f"bridge-{self.link.key.hex}-"

    def dead(
        self,
        received: Received,
        reason: str,
        error: str,
        now: datetime,
        *,
        target: Destination | None = None,
        notice: Notice | None = None,
    ) -> Dead:
        """A dead message, with the reason and the error, and a line in the log."""
        told = self.name, received.message_id, reason, error
        logger.warning("%s: %s: %s: %s", *told)
        copy = dead_messages.copy_of(
            self.link,
            received,
            reason=str(reason),
            error=error,
            now=now,
            target=target,
            notice=notice,
        )
        return Dead(received, str(reason), error, copy, now, notice is not None)

    def begun(self, received: list[Received], now: datetime | None) -> Batch:
        """The batch of what was received."""
        self.received = len(received)
        return Batch(received, now or self.now())

    def refused(self, sending: Sending, error: str, now: datetime) -> Dead:
        return self.dead(
            sending.received,
            Outcome.SEND_FAILURE,
            error,
            now,
            target=sending.destination,
        )

    def bury_elsewhere(self, dead: Sequence[Dead]) -> None:
        """Send copies to the configured dead message queues. This comes before the put
        to the built-in queue, which is in the transaction of the transfer."""
        if self.dead_queues:
            for one in dead:
                dead_messages.send_elsewhere(self.link, one, self)

    @transaction.atomic
    def notice(
        self, received: Sequence[Received], reason: Outcome, error: str, xid: str = ""
    ) -> None:
        """Send notices about messages that are not lost to the dead message queues.

        Args:
            xid: the transaction that they are in, whose end makes the notices needless.

        Raises:
            LinkTakenOver: another process runs the link.
        """
        now, known = database_now(), KNOWN[reason]
        dead = [self.dead(one, reason, error, now, notice=known) for one in received]
        self.bury_elsewhere(dead)
        self.fence(Counts(dead=len(dead)), now)
        buried = dead_messages.bury(self.link, dead)
        self.write(*dead_entries(dead, buried, counted=False))
        if xid:
            notices.remember(xid, buried)

    def confirm(self) -> None:
        """Check that the link is still ours, unless this was known a moment ago: the
        process may have hung.

        Raises:
            LinkTakenOver: another process runs it.
        """
        if time.monotonic() - self.sure_at < SURE_S:
            return
        ours = LinkStatus.objects.filter(link=self.link, epoch=self.epoch)
        told = ours.values_list(Now(), flat=True).first()
        if told is None:
            raise LinkTakenOver(self.name, self.epoch)
        self.set_clock(told)

    @property
    def is_ahead(self) -> bool:
        """Whether a decided batch may not be committed at the other provider yet."""
        return self.decisions is not None and bool(self.decisions.xid)

    def finish(self) -> None:
        """See ``Decisions.finish``."""
        if self.decisions is not None:
            self.decisions.finish()

    def fence(self, counts: Counts, now: datetime) -> None:
        """See ``books.fence``."""
        self.set_clock(books.fence(self.link.pk, self.name, self.epoch, counts, now))

    def set_clock(self, told: datetime) -> None:
        """Note that this process owns the link, and the time of the database's
        clock."""
        self.sure_at, self.told = time.monotonic(), told

    def now(self) -> datetime:
        """The time of the database's clock, computed from its last known value, without
        a query. After ``confirm`` that value is recent."""
        return self.told + timedelta(seconds=time.monotonic() - self.sure_at)

    def write(self, *entries: TransferEntry) -> None:
        """See ``books.note``."""
        books.note(entries, link_id=self.link.pk, link=self.name)

    # Access to the configured dead message queues; see ``dead_messages``.

    @property
    def queues(self) -> Sequence[DeadMessageQueue]:
        return self.dead_queues

    def session(self, queue: DeadMessageQueue) -> ProviderSession:
        """The open session with the provider of a queue, or a new one."""
        found = self.sessions.pop(queue.pk, None)
        if found is None:
            found = connect(factory_of(queue.factory, client_id=queue.client_id))
        self.sessions[queue.pk] = found
        return found

    def drop(self, queue: DeadMessageQueue) -> None:
        """Close the session with the provider of a queue; the next one is new."""
        if session := self.sessions.pop(queue.pk, None):
            session.close()

    def wait(self, seconds: float) -> bool:
        return self.stopping.wait(seconds)

    def close(self) -> None:
        while self.sessions:
            _, session = self.sessions.popitem()
            session.close()


def dead_entries(
    dead: Sequence[Dead], receipts: Sequence[Receipt], *, counted: bool
) -> list[TransferEntry]:
    """Journal entries of copies put on the built-in queue; notices never count.

    Args:
        receipts: empty if the queue accepted nothing.
    """
    return [
        TransferEntry(
            queue_id,
            receipt.message_id,
            OUTCOMES.get(one.reason, Outcome.NOT_TRANSFERRED),
            one.received.message_id,
            role=Role.DEAD,
            counted=counted and not one.is_notice,
        )
        for one, receipt in zip(dead, receipts, strict=False)
        for queue_id in receipt.queue_ids[:1]
    ]


OUTCOMES = {one.value: one for one in Outcome}
KNOWN = {
    Outcome.ACK_FAILURE: Notice.DELIVERED,
    Outcome.COMMIT_FAILURE: Notice.IN_DOUBT,
    Outcome.SEND_FAILURE: Notice.AT_SOURCE,
}
