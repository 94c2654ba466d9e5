"""STOMP 1.2, as ActiveMQ, Artemis and RabbitMQ speak it, through stomp.py.

``options`` parses a connection factory, ``dialects`` lists differences of servers,
``transport`` and ``connection`` send and receive frames, ``session`` and
``subscription`` are used by links, ``refusals`` maps ERROR frames to errors of links,
and ``messages`` converts messages.
"""

from __future__ import annotations

from broker.bridges.providers.stomp.session import connect

__all__ = ["connect"]
