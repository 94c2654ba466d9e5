"""Who consumes what the demonstration sends. The dispatcher finds them."""

from __future__ import annotations

import logging

from broker.client import Delivery, UnitOfWork, consumes
from console.demo import customers
from console.demo.payments import INTO
from console.demo.reading import read

logger = logging.getLogger(__name__)


@consumes("intake")
def receive(delivery: Delivery, work: UnitOfWork) -> None:
    """Read a message and pass on what it is; what cannot be read is backed out."""
    summary = read(delivery.body, delivery.content_type, customers.known())
    work.put("parsed", summary[:500].encode(), content_type="text/plain")


@consumes(INTO, join=False)
def book(delivery: Delivery, work: UnitOfWork) -> None:
    """Read a payment's status; what cannot be read is backed out."""
    read(delivery.body, delivery.content_type, frozenset())


@consumes("parsed")
def note(delivery: Delivery, work: UnitOfWork) -> None:
    """Stand for the systems behind the receiver: take what it passes on."""
    logger.debug("Read: %s", delivery.body.decode())
