"""Receipts as tasks of Celery, with this broker in place of RabbitMQ or Redis.

    celery -A console.demo.receipts worker

One in twelve customers has no address, so that some tasks are dead letters.
"""

from __future__ import annotations

import os

from celery import Celery

QUEUE = "receipts"
WITHOUT_ADDRESS = 12

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
app = Celery(QUEUE, broker="backout://", set_as_current=False)
app.conf.update(
    broker_transport="broker.client.celery_transport:Transport",
    task_default_queue=QUEUE,
    task_ignore_result=True,
    task_acks_late=True,
)


@app.task(name="send_receipt")
def send_receipt(order: int) -> None:
    """Send the receipt of an order.

    Raises:
        LookupError: the customer has no address.
    """
    if order % WITHOUT_ADDRESS == 0:
        raise LookupError(f"the customer of order {order} has no e-mail address")
