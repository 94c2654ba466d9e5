"""The two ends of an AMQP link, as we hold them: a ``Sender`` or a ``Receiver``.

A client that gets has a ``Sender`` on our side; one that puts, a ``Receiver``. Every
method of an endpoint that is gone does nothing, but for ``Sender.send``.
"""

from __future__ import annotations

from broker.amqp.protocol.endpoint import Endpoint
from broker.amqp.protocol.receiving import Receiver
from broker.amqp.protocol.sending import Sender

__all__ = ["Endpoint", "Receiver", "Sender"]
