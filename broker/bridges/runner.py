"""The thread of one link: connect, transfer, wait, and reconnect.

Source:
    BRIDGE-10, BRIDGE-18 and BRIDGE-19.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import Error as DatabaseError
from django.db import connection
from django.db.models.functions import Now

from broker.bridges import books, duplicates, standing
from broker.bridges.carrier import Carrier
from broker.bridges.configured import is_here
from broker.bridges.ends import (
    Ends,
    Road,
    close_quietly,
    has_messages,
    look,
    opened,
)
from broker.bridges.retries import Retries, doubled_s
from broker.bridges.transfer import transfer
from broker.errors.bridges import (
    AccessRefused,
    DeadMessageRefused,
    LinkTakenOver,
    ProviderLost,
    SecretsLost,
    SendRefused,
    TransformerFailed,
    WrongFactory,
    WrongLink,
)
from broker.models import DeadMessageQueue, Link, LinkState
from broker.queueing import notifications, processes
from broker.queueing.low_watermarks import FLOORS
from broker.sql.waits import Waits
from broker.transactions import session

logger = logging.getLogger(__name__)

WAIT_S = 0.5  # wait for the first message; a command may be delayed by this time
LOOK_S = 2.0  # seconds between two counts of the messages at the source
FORGET_S = 60.0  # seconds between two deletions of old message ids

HOPELESS = (
    AccessRefused,
    DeadMessageRefused,
    SecretsLost,
    TransformerFailed,
    WrongFactory,
    WrongLink,
)


@dataclass
class Runner:
    """One link, run by this process from a start or take-over to its end.

    Attributes:
        wanted: the state commanded by operators; may be set from any thread.
        is_over: the thread has ended.
    """

    link: Link
    epoch: int
    dead_queues: Sequence[DeadMessageQueue]
    wanted: LinkState
    # Owner id that the bridge process must still have; None: not checked.
    owner_id: int | None = None
    stopping: threading.Event = field(default_factory=threading.Event)
    is_over: bool = False
    retries: Retries = field(default_factory=Retries)
    tries: int = 0  # tries to connect, in a row
    alone: int = 0  # number of messages that must still be transferred one by one
    stated: LinkState | None = None  # the last state written
    is_to_tell: bool = False  # the link's row has another state, and must be corrected
    has_given_up: bool = False
    is_leaving: bool = False  # the process ends; another may run the link
    is_resting: bool = False
    busy_at: float = 0.0  # time of the last transfer
    looked_at: float = 0.0
    resubmitted_at: float = 0.0
    forgot_at: float = 0.0
    away: Waits = field(default_factory=lambda: Waits(1.0))

    def __post_init__(self) -> None:
        self.carrier = Carrier(
            self.link, self.epoch, self.dead_queues, stopping=self.stopping
        )
        self.thread = threading.Thread(target=self.run, name=str(self.link))

    def start(self) -> None:
        self.thread.start()

    def want(self, to: LinkState, told: str = "") -> None:
        """Set the wanted state, effective after the current message.

        Args:
            told: the state in the link's row. A command that was taken back at once
                leaves a state there that the thread has to write over.
        """
        self.is_to_tell |= told not in ("", to) and to == self.wanted == self.stated
        if to == self.wanted or self.is_leaving or self.has_given_up:
            return  # after giving up, this thread ends; another may be started
        self.wanted = to
        if to == LinkState.STOPPED:
            self.stopping.set()
        notifications.wake_all()

    def leave(self) -> None:
        """End after the current message, so that another process can go on."""
        self.want(LinkState.STOPPED)
        self.is_leaving = True

    def run(self) -> None:
        """Run until the link is to stop, or another process has taken it over."""
        try:
            while self.wanted != LinkState.STOPPED:
                self.turn()
            self.state(LinkState.STOPPED)
        except LinkTakenOver as error:
            logger.warning("%s", error)
        finally:
            self.is_over = True
            connection.close()

    def turn(self) -> None:
        """One connection: open it, transfer, and handle the error that ends it."""
        ends: Ends | None = None
        try:
            self.check_owner()
            self.rest()
            self.state(LinkState.STARTING)
            ends = opened(self.carrier)
            self.connected()
            self.serve(ends)
        except HOPELESS as error:
            self.give_up(str(error))
        except ProviderLost as error:
            self.lost(error)
        except DatabaseError as error:
            logger.warning("%s waits for the database: %s", self.link, error)
            session.drop()
            FLOORS.forget()
            self.stopping.wait(self.away.next_s())
        finally:
            if ends is not None:
                close_quietly(ends)

    def check_owner(self) -> None:
        """Raise LinkTakenOver if the database was away and has lost this process: the
        bridge takes the link over again, with all that it had got, in its order."""
        processes.renew("bridge")
        if self.owner_id not in (None, processes.current("bridge")):
            raise LinkTakenOver(str(self.link), self.epoch)

    def connected(self) -> None:
        """Reset the failed tries to connect; failures of a message stay counted."""
        if self.tries:
            self.tries = 0
            books.recovered(self.link.pk, self.epoch, failures=self.retries.in_a_row)

    def serve(self, ends: Ends) -> None:
        """Transfer messages until the link is to stop."""
        self.state(LinkState.STARTED)
        while self.wanted != LinkState.STOPPED:
            if self.wanted == LinkState.PAUSED:
                self.pause(ends)
                continue
            if self.waits(ends):
                continue
            carried = sum(self.carry(ends, road) for road in self.roads(ends))
            if self.is_to_rest(ends, carried):
                return
            self.keep_house(ends, is_idle=not carried)
            if ends.marker is not None and ends.marker.is_stale:
                return

    def waits(self, ends: Ends) -> bool:
        """Wait a moment, if a refused message is not to be tried again yet."""
        left_s = self.retries.left_s(time.monotonic())
        if left_s <= 0:
            return False
        self.stopping.wait(min(left_s, WAIT_S / 5))
        ends.main.receive(0, 0)  # this keeps the connection alive
        self.look(ends)
        return True

    def is_to_rest(self, ends: Ends, carried: int) -> bool:
        """Whether to close the connection to the target, because it was idle for
        long."""
        now = time.monotonic()
        if carried or not self.busy_at:
            self.busy_at = now
        idle_s = self.link.target_factory.idle_timeout_s
        may_rest = ends.remote is not None and is_here(self.link.source_factory)
        if self.link.stay_connected or not (may_rest and idle_s):
            return False
        self.is_resting = now - self.busy_at >= idle_s
        return self.is_resting

    def rest(self) -> None:
        """Stay disconnected until a message is at the source."""
        while self.is_resting and not self.stopping.wait(WAIT_S):
            is_started = self.wanted == LinkState.STARTED
            self.is_resting = is_started and not has_messages(self.link)
        self.is_resting, self.busy_at = False, 0.0

    def roads(self, ends: Ends) -> list[Road]:
        """The sources to read now; the source of resubmitted messages is read only now
        and then."""
        if time.monotonic() - self.resubmitted_at < WAIT_S:
            return ends.roads[-1:]
        self.resubmitted_at = time.monotonic()
        return ends.roads

    def carry(self, ends: Ends, road: Road) -> int:
        """Transfer one batch of one source.

        Raises:
            BridgeError: the connection must be closed; see ``turn``.
        """
        link, is_main = self.link, road is ends.roads[-1]
        one_by_one = self.alone > 0 or (
            not link.transacted and link.on_send_failure == Link.OnSendFailure.RETRY
        )
        limit = 1 if one_by_one else link.batch
        try:
            count = transfer(
                self.carrier,
                road.source,
                road.way,
                limit=limit,
                wait_s=WAIT_S if is_main else 0,
            )
        except SendRefused as refusal:
            self.refused(refusal, limit)
            return 1
        if count:
            self.alone = max(0, self.alone - count)
            if self.retries.succeeded():
                books.recovered(link.pk, self.epoch)
        return count

    def refused(self, refusal: SendRefused, limit: int) -> None:
        """Handle a refused message: isolate it in its batch, or count its failures, and
        wait before the next try.

        Raises:
            WrongLink: it failed too often in a row.
        """
        if self.carrier.received > 1:
            self.alone = limit
            return
        self.retries.refused(refusal.hold, time.monotonic())
        error = standing.error_of(refusal)
        logger.warning("%s: attempt %d: %s", self.link, self.retries.in_a_row, error)
        self.note(error)
        if self.retries.is_hopeless:
            raise WrongLink(str(self.link), self.retries.why_stopped(refusal))

    def pause(self, ends: Ends) -> None:
        """Keep the connections, and receive nothing, until the wanted state changes."""
        self.carrier.finish()
        self.state(LinkState.PAUSED)
        while self.wanted == LinkState.PAUSED and not self.stopping.wait(WAIT_S / 5):
            # A receive of 0 messages keeps the connection alive.
            ends.main.receive(0, 0)
            self.look(ends)
        if self.wanted == LinkState.STARTED:
            self.state(LinkState.STARTED)

    def keep_house(self, ends: Ends, *, is_idle: bool) -> None:
        """Periodic work: count waiting messages, and delete old message ids."""
        self.look(ends)
        now = time.monotonic()
        if is_idle and now - self.forgot_at >= FORGET_S:
            self.forgot_at = now
            if self.link.duplicate_detection:
                duplicates.forget(self.link.pk)

    def look(self, ends: Ends) -> None:
        if self.is_to_tell and self.stated:
            self.is_to_tell = False
            self.state(self.stated)
        now = time.monotonic()
        if now - self.looked_at >= LOOK_S:
            self.looked_at = now
            look(ends)

    def lost(self, error: ProviderLost) -> None:
        """Wait before the next try to connect; give up after the factory's limit."""
        link = self.link
        is_out = is_here(link.source_factory)
        factory = link.target_factory if is_out else link.source_factory
        self.tries += 1
        logger.warning("%s: try %d: %s", self.link, self.tries, error)
        self.note(str(error))
        if 0 <= factory.connect_attempts <= self.tries:
            self.give_up(
                f"{error} The link gave up after {self.tries} attempts. Start it when"
                " the provider is available again."
            )
            return
        self.stopping.wait(doubled_s(self.tries, factory.connect_interval_s))

    def note(self, error: str) -> None:
        failures = self.retries.in_a_row + self.tries
        books.trouble(self.link.pk, self.epoch, error, failures=failures)

    def give_up(self, why: str) -> None:
        """Stop with a reason, until an operator starts the link again."""
        logger.error("%s: stopped: %s", self.link, why)
        self.wanted, self.has_given_up = LinkState.STOPPED, True
        # At least one failure shows that no operator has stopped the link.
        self.retries.failures = max(1, self.retries.failures)
        self.note(why)

    def state(self, to: LinkState) -> None:
        """Write the link's state. Repeated tries to connect keep the time of the first
        try.

        Raises:
            LinkTakenOver: another process runs the link.
        """
        more: dict[str, Any] = {}
        if to != self.stated:
            more["changed_at"] = Now()
        if to == LinkState.STOPPED:
            more["owner_id"] = None
            if not self.is_leaving:
                more["wanted"] = LinkState.STOPPED
                if not self.has_given_up:
                    more["failures"] = 0  # an operator has stopped the link
        elif to == LinkState.STARTING and to != self.stated:
            more["started_at"] = Now()
        if not books.state(self.link.pk, self.epoch, to, **more):
            raise LinkTakenOver(str(self.link), self.epoch)
        self.stated = to
