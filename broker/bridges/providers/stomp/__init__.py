"""STOMP 1.2, as ActiveMQ, Artemis and RabbitMQ speak it, through stomp.py.

``options`` reads a connection factory, ``dialects`` knows how the servers differ,
``transport`` and ``connection`` carry frames, ``session`` and ``subscription`` are what
a link uses, ``refusals`` says what an ERROR frame means, and ``messages`` translates.
"""

from __future__ import annotations

from broker.bridges.providers.stomp.session import connect

__all__ = ["connect"]
