"""Handlers of the demonstration's messages. The dispatcher finds them."""

from __future__ import annotations

import logging

from broker.client import Delivery, UnitOfWork, consumes
from console.demo import customers
from console.demo.payments import INTO
from console.demo.reading import read

logger = logging.getLogger(__name__)


@consumes("intake")
def receive(delivery: Delivery, work: UnitOfWork) -> None:
    """Parse a message and forward its kind; back out what cannot be parsed."""
    summary = read(delivery.body, delivery.content_type, customers.known())
    work.put("parsed", summary[:500].encode(), content_type="text/plain")


@consumes(INTO, join=False)
def book(delivery: Delivery, work: UnitOfWork) -> None:
    """Read a payment's status; back out what cannot be read."""
    read(delivery.body, delivery.content_type, frozenset())


@consumes("parsed")
def note(delivery: Delivery, work: UnitOfWork) -> None:
    """A consumer of the forwarded messages; accepts them all."""
    logger.debug("Read: %s", delivery.body.decode())


@consumes("warehouse")
def pack(delivery: Delivery, work: UnitOfWork) -> None:
    """Send a parcel, and confirm it; a link takes the confirmation back."""
    work.put("confirmations", delivery.body, content_type=delivery.content_type)


@consumes("newsletter")
def send_newsletter(delivery: Delivery, work: UnitOfWork) -> None:
    """Send a newsletter; nobody has the address of every third."""
    if int(delivery.body) % 3 == 0:
        raise LookupError(f"the mailbox of subscriber {int(delivery.body)} is gone")
