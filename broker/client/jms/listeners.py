"""The thread of a session whose consumers have listeners."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from django.db import Error as DatabaseError
from django.db import connection

from broker.client.jms.consumers import Consumer
from broker.errors import BrokerError, LockLost
from broker.queueing import notifications
from broker.queueing.low_watermarks import FLOORS
from broker.sql.waits import Waits
from broker.transactions import session
from broker.transactions.scope import describe

if TYPE_CHECKING:
    from broker.client.jms.sessions import Session

logger = logging.getLogger(__name__)

AWAY_S = 1.0  # longest delay after an error of a queue or the database


class Listening:
    """Passes a session's messages to its listeners, one at a time, until it closes."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.away = Waits(AWAY_S)
        self.thread = threading.Thread(target=self.run, name="listeners", daemon=True)

    def is_here(self) -> bool:
        return threading.current_thread() is self.thread

    def run(self) -> None:
        try:
            while not self.session.closing.is_set():
                self.go_on()
        finally:
            connection.close()

    def go_on(self) -> None:
        """Pass on one message of each queue; if there is none, wait."""
        consumers = [one for one in self.session.consumers if one.listener is not None]
        seen = {one.queue.pk: notifications.version(one.queue.pk) for one in consumers}
        try:
            handed = [self.hand_next(one) for one in consumers]
            if not any(handed):
                longest_s = min([one.until_due_s() for one in consumers], default=1)
                if not self.session.closing.is_set():
                    notifications.wait_for_any(seen, longest_s=longest_s)
        except LockLost as error:
            # The next commit of the session reports the loss.
            self.session.holding.lost = error
            logger.warning("%s", error)
        except BrokerError as error:
            logger.error("A listener cannot go on: %s", error)
            self.session.closing.wait(AWAY_S)
        except DatabaseError as error:
            logger.warning("A listener waits for the database: %s", error)
            session.drop()
            FLOORS.forget()
            self.session.closing.wait(self.away.next_s())

    def hand_next(self, consumer: Consumer) -> bool:
        """Pass on the next message; return whether there was one."""
        with self.session.in_use:
            if self.session.closing.is_set() or consumer.closed:
                return False
            message = consumer.next()
            if message is None or consumer.listener is None:
                return False
            lent = session.Lent.now()
            try:
                consumer.listener(message)
                lent.check()
            except BaseException as error:  # noqa: BLE001  # any error of a listener
                lent.drop()
                why = describe(error)
                logger.info("A listener of %s: %s", consumer.queue.name, why)
                self.session.raised(why)
            else:
                consumer.accept_heard(message)
        return True
