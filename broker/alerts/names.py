"""The queues of notifications. No rule looks at them, so that alerts about failed
notifications cannot loop."""

from __future__ import annotations

from broker.declarations.declaring import declare_queue
from broker.models import Queue

QUEUE = "backout.alerts"
DEAD = "backout.alerts.dead"  # notifications that could not be delivered
OWN = frozenset({QUEUE, DEAD})
ATTEMPTS = 12  # deliveries of a notification, within about two and a half hours


def ensure_queue() -> None:
    """Create the queue of notifications, with its redelivery delays and its dead letter
    queue, if it is missing. An existing queue keeps its settings."""
    if not Queue.objects.filter(name=QUEUE).exists():
        declare_queue(
            QUEUE,
            dead_letter_address=DEAD,
            max_delivery_attempts=ATTEMPTS,
            redelivery_delay="10 s",
            redelivery_delay_multiplier=2.0,
            max_redelivery_delay="30 min",
        )
