"""Our end of an AMQP link: a ``Sender`` or a ``Receiver``.

For a client that gets, our end is a ``Sender``; for one that puts, a ``Receiver``. On
an endpoint that is gone, every method does nothing, except ``Sender.send``.
"""

from __future__ import annotations

from broker.amqp.protocol.endpoint import Endpoint
from broker.amqp.protocol.receiving import Receiver
from broker.amqp.protocol.sending import Sender

__all__ = ["Endpoint", "Receiver", "Sender"]
