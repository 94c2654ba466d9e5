"""The thread that settles what a worker has acknowledged or rejected.

A worker goes on with its next task meanwhile. Outcomes that wait for each other are
settled by one statement.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from django.db import Error as DatabaseError
from django.db import connection

from broker.queueing.get import Delivery
from broker.settlement.batch import Settlement, settle
from broker.settlement.confirmations import places_of
from broker.settlement.outcomes import BackOut, Outcome
from broker.sql.waits import Waits

logger = logging.getLogger(__name__)

MOST = 500  # most outcomes of one statement
AWAY_S = 1.0  # longest wait after an error of the database
LINGERS_S = 1.0  # the thread ends after this time without work
ENDS_WITHIN_S = 10.0  # longest wait for the last outcomes when a connection closes
LOST = "The outcome of %d tasks has no effect, they were redelivered: %s"
NOT_STORED = BackOut("The outcome of the task could not be stored.")

Ended = tuple[Delivery, Outcome]


class Settler:
    """Outcomes of one connection, in the order in which they were added."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.outcomes: deque[Ended] = deque()
        # Other functions for the same thread, in order.
        self.jobs: deque[Callable[[], object]] = deque()
        self.is_busy = False
        self.most = MOST
        self.thread: threading.Thread | None = None

    def add(self, delivery: Delivery, outcome: Outcome) -> None:
        """Settle a delivery soon. May be called in any thread."""
        with self.changed:
            self.outcomes.append((delivery, outcome))
            self.go_on()

    def run_soon(self, job: Callable[[], object]) -> None:
        """Run a function in the thread; again, if the database was away."""
        with self.changed:
            self.jobs.append(job)
            self.go_on()

    def go_on(self) -> None:
        if self.thread is None:
            self.thread = threading.Thread(
                target=self.run, name="celery-settling", daemon=True
            )
            self.thread.start()
        self.changed.notify_all()

    def flush(self, within_s: float = ENDS_WITHIN_S) -> bool:
        """Wait until everything is settled; whether it is. If the database is away, the
        thread goes on until it has settled."""
        with self.changed:
            return self.changed.wait_for(lambda: not self.is_waiting, within_s)

    @property
    def is_waiting(self) -> bool:
        return bool(self.outcomes or self.jobs or self.is_busy)

    def run(self) -> None:
        waits = Waits(AWAY_S)
        while self.goes_on():
            try:
                self.settle_next()
                self.do_next()
            except DatabaseError as error:
                logger.warning("Outcomes of tasks wait for the database: %s", error)
                connection.close()
                time.sleep(waits.next_s())
            # An outcome that cannot be stored must not hold back the outcomes after it.
            except Exception:
                logger.exception("The outcomes of tasks could not be stored.")
                self.isolate()
        connection.close()

    def isolate(self) -> None:
        """After an error that is not the database's: settle outcomes one by one, and
        back out the task whose outcome fails."""
        if self.most > 1:
            self.most = 1
            return
        with self.changed:
            delivery, outcome = self.outcomes.popleft()
            if outcome is not NOT_STORED:
                self.outcomes.appendleft((delivery, NOT_STORED))

    def goes_on(self) -> bool:
        """Wait for something to settle; if nothing comes, the thread ends."""
        with self.changed:
            self.is_busy = False
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.is_waiting, LINGERS_S)
            self.is_busy = self.is_waiting
            if not self.is_busy:
                self.thread = None
            return self.is_busy

    def settle_next(self) -> None:
        """Settle the next outcomes; they are kept if the database is away."""
        some = list(self.outcomes)[: self.most]
        if some:
            told = settle(settlements(some))
            lost = [error for error in told if error is not None]
            if lost:
                logger.warning(LOST, len(lost), lost[0])
            for _ in some:
                self.outcomes.popleft()
            self.most = MOST

    def do_next(self) -> None:
        if self.jobs:
            try:
                self.jobs[0]()
            except DatabaseError:
                raise  # ``run`` calls the job again
            except Exception:
                logger.exception("The failure of a task could not be stored.")
            self.jobs.popleft()


def settlements(ended: Sequence[Ended]) -> list[Settlement]:
    """Deliveries of one unit of work with the same outcome are one settlement."""
    groups: dict[tuple[int, int, Outcome], list[Delivery]] = defaultdict(list)
    for delivery, outcome in ended:
        groups[delivery.uow, delivery.queue_id, outcome].append(delivery)
    return [
        Settlement(
            uow,
            queue_id,
            [one.message_id for one in deliveries],
            outcome,
            wants_cod=bool(places_of(deliveries)),
        )
        for (uow, queue_id, outcome), deliveries in groups.items()
    ]
