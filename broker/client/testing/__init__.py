"""For tests of projects: run what is ready in this process, and see what was put.

::

    class OrderTests(TestCase):
        def test_an_order_is_booked(self) -> None:
            self.client.post("/orders/", {"article": "pears"})
            assert_put("orders", json={"article": "pears"})
            run_ready()
            assert Booking.objects.get().article == "pears"

All of it works in ``TestCase``, where nothing is committed, and in
``TransactionTestCase``. Fixtures for pytest are in ``broker.client.testing.fixtures``.
"""

from __future__ import annotations

from broker.client.testing.asserting import (
    assert_enqueued,
    assert_no_dead_letters,
    assert_not_put,
    assert_put,
    dead_letters,
    put_messages,
)
from broker.client.testing.running import (
    Attempt,
    EagerClient,
    dispatching,
    eager,
    run_ready,
)

__all__ = [
    "Attempt",
    "EagerClient",
    "assert_enqueued",
    "assert_no_dead_letters",
    "assert_not_put",
    "assert_put",
    "dead_letters",
    "dispatching",
    "eager",
    "put_messages",
    "run_ready",
]
