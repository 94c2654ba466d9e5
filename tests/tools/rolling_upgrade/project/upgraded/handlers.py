"""Notes each message in the transaction that accepts it."""

from __future__ import annotations

from random import random

from django.db import connection

from broker.client import Delivery, UnitOfWork, consumes

FAILS = 0.02  # of the messages, and are delivered again
# A second time would be a message that was doubled.
NOTE = """
INSERT INTO handled (body) VALUES (%s)
ON CONFLICT (body) DO UPDATE SET times = handled.times + 1"""


class HandlerError(Exception):
    """What a handler raises now and then."""


@consumes("orders", concurrency=2)
def note(delivery: Delivery, work: UnitOfWork) -> None:
    if random() < FAILS:
        raise HandlerError
    with connection.cursor() as cursor:
        cursor.execute(NOTE, [bytes(delivery.body).decode()])
