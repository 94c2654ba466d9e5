"""The broker for programs: connections, sessions, producers, consumers and browsers.

It reads like the simplified API of JMS 2.0, in Python's manner::

    with connect() as connection, connection.session(SessionMode.TRANSACTED) as session:
        answers = session.producer("answers")
        while message := session.consumer("orders").receive(timeout_s=10):
            answers.send(answer(message.text), correlation_id=message.message_id)
            session.commit()

Closing gives everything back; whatever has no end of its own is a context manager.

Source:
    Jakarta Messaging (JMS) 2.0, "Simplified API", and IBM MQ classes for JMS for all
    that concerns messages which cannot be processed.
"""

from __future__ import annotations

from broker.client.jms.browsers import Browser
from broker.client.jms.connections import Connection, connect
from broker.client.jms.consumers import Consumer
from broker.client.jms.messages import Message
from broker.client.jms.producers import Producer, SendOptions
from broker.client.jms.sessions import Session, SessionMode

__all__ = [
    "Browser",
    "Connection",
    "Consumer",
    "Message",
    "Producer",
    "SendOptions",
    "Session",
    "SessionMode",
    "connect",
]
