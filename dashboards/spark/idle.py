"""Ends Spark and its Java, which keep two gigabytes, when no run has needed them for a
while; the next run starts them again."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dashboards.spark import session

logger = logging.getLogger(__name__)

END_AFTER_S = 15 * 60.0


class IdleSpark:
    """The timer of this process."""

    def __init__(self) -> None:
        # Held by a run, and while Spark is ended: a run that begins meanwhile waits,
        # and then starts Spark again.
        self.lock = threading.Lock()
        self.used_at = 0.0  # the end of the last run; monotonic seconds

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Spark is needed within the block, and for ``END_AFTER_S`` after it."""
        with self.lock:
            try:
                yield
            finally:
                self.used_at = time.monotonic()
                timer = threading.Timer(END_AFTER_S, self.end_if_idle)
                timer.daemon = True
                timer.start()

    def end_if_idle(self) -> None:
        """End Spark, unless another run came."""
        with self.lock:
            if time.monotonic() - self.used_at >= END_AFTER_S:
                logger.info("Spark ends: no report for %g minutes.", END_AFTER_S / 60)
                session.end()


IDLE = IdleSpark()
