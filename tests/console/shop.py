"""A consumer that does well for a while, and then fails of something new."""

from __future__ import annotations

import json
import threading

from broker.transactions.scope import unit_of_work
from tests.broker.elsewhere import Background

SOUND = 60  # orders that it books before it fails: in the third part of an operation
FAILS = 3  # orders, and then it rests


class Shop:
    """Books orders in euro; what went wrong with it is a test's matter to find out."""

    def __init__(self, failure: str) -> None:
        self.failure = failure
        self.booked = self.failed = 0
        self.closing = threading.Event()

    def __enter__(self) -> Shop:
        self.work = Background(self.run)
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.work.join()

    def run(self) -> None:
        while not self.closing.is_set():
            if self.failed == FAILS or not self.take():
                self.closing.wait(0.05)

    def take(self) -> bool:
        """One order, if there is one."""
        with unit_of_work(actor="shop.book") as work:
            for delivery in work.get("orders", 1):
                assert json.loads(delivery.body)["currency"] == "EUR"
                if self.booked < SOUND:
                    self.booked += 1
                else:
                    self.failed += 1
                    work.back_out(self.failure)
                return True
        return False
