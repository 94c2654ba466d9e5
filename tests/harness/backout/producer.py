"""The producer: ``put_many``, from one thread."""

from __future__ import annotations

import json
import threading
import time
from array import array

from django.db import Error as DatabaseError
from django.db import connection

from broker.client import NewMessage, put_many
from broker.errors import BrokerError
from tests.harness.backout.handlers import QUEUE
from tests.harness.contract import Pace, Told, say
from tests.harness.histogram import SIZE, bucket

AGAIN_AFTER_S = 0.2
BESIDE_PADDING = 96  # bytes of the other fields


class Producer:
    """Puts messages as the pace says, and counts those whose put has returned."""

    def __init__(self, told: Told, pace: Pace, stopping: threading.Event) -> None:
        self.told = told
        self.pace = pace
        self.stopping = stopping
        self.put = 0
        self.errors = 0
        self.calls = array("Q", bytes(SIZE * 8))  # histogram of the calls
        self.padding = "x" * max(0, told.payload_bytes - BESIDE_PADDING)

    def run(self) -> None:
        for size in self.pace.batches():
            began = time.perf_counter_ns()
            if self.put_batch(size):
                us = (time.perf_counter_ns() - began) // 1000
                self.calls[bucket(us)] += 1

    def put_batch(self, size: int) -> bool:
        """Put one batch; tell if that succeeded. A batch that failed is not put again:
        what it would have put is not counted."""
        try:
            put_many([self.message(self.put + n) for n in range(size)])
        except (DatabaseError, BrokerError) as error:
            self.errors += 1
            say(f"The producer could not put: {error!r}"[:300])
            try:
                connection.close()
            except DatabaseError as again:
                say(f"Its connection could not be closed: {again!r}"[:300])
            self.stopping.wait(AGAIN_AFTER_S)
            return False
        self.put += size
        return True

    def message(self, number: int) -> NewMessage:
        mod = self.told.fail_first_mod
        job = {
            "seq": number,
            "put_at_ns": time.time_ns(),
            "fails_first": bool(mod) and number % mod == 0,
            "padding": self.padding,
        }
        body = json.dumps(job).encode()
        return NewMessage(QUEUE, body, content_type="application/json")
