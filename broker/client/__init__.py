"""The client API: everything that an application imports.

``put``, ``unit_of_work`` and handlers by ``@consumes`` work in the caller's own
transaction. A program that consumes a queue in a loop of its own uses ``consumer``,
which accepts a message and gets the next one in one statement::

    with consumer("orders") as deliveries:
        for delivery in deliveries:
            deliveries.put("answers", answer(delivery.body))

Asynchronous code has ``aput``, ``aput_many``, ``aconsumer`` and ``aunit_of_work``. None
of them blocks its event loop::

    await aput("orders", b"pears")

Connections, sessions, producers, consumers and browsers follow the simplified API of
JMS 2.0, in Python's style::

    with connect() as connection, connection.session(SessionMode.TRANSACTED) as session:
        answers = session.producer("answers")
        while message := session.consumer("orders").receive(timeout_s=10):
            answers.send(answer(message.text), correlation_id=message.message_id)
            session.commit()

Closing gives all unaccepted messages back; everything to close is a context manager. A
message that can never be processed is rejected, and becomes a dead letter::

    message.reject("There is no customer 17.")

Django's tasks are in ``broker.client.django_tasks``, which ``TASKS`` names.

A transacted session can commit in two phases, as one branch of a transaction that also
changes something else. A prepared branch survives everything until it is decided::

    session.prepare("order 17")
    connection.commit_branch("order 17")  # or ``rollback_branch``, in any process

After a crash, ``connection.branches()`` lists those that wait for their decision.

Source:
    Jakarta Messaging (JMS) 2.0, "Simplified API" and "XA"; IBM MQ classes for JMS, for
    messages that cannot be processed.
"""

from __future__ import annotations

from broker.client.asynchronous.consumer_loop import AsyncDeliveries, aconsumer
from broker.client.asynchronous.puts import aput, aput_many
from broker.client.asynchronous.unit_of_work import AsyncUnitOfWork, aunit_of_work
from broker.client.consumer_loop import Deliveries, consumer
from broker.client.dispatch.handlers import consumes
from broker.client.jms.browsers import Browser
from broker.client.jms.connections import Connection, connect
from broker.client.jms.consumers import Consumer
from broker.client.jms.messages import Message
from broker.client.jms.producers import Producer, SendOptions
from broker.client.jms.sessions import Session, SessionMode
from broker.declarations.declaring import declare_queue
from broker.errors.units_of_work import RedeliverIn, Reject
from broker.queueing.get import Delivery
from broker.queueing.put import NewMessage, put, put_many
from broker.transactions.prepared import PreparedUnitOfWork
from broker.transactions.scope import UnitOfWork, unit_of_work

__all__ = [
    "AsyncDeliveries",
    "AsyncUnitOfWork",
    "Browser",
    "Connection",
    "Consumer",
    "Deliveries",
    "Delivery",
    "Message",
    "NewMessage",
    "PreparedUnitOfWork",
    "Producer",
    "RedeliverIn",
    "Reject",
    "SendOptions",
    "Session",
    "SessionMode",
    "UnitOfWork",
    "aconsumer",
    "aput",
    "aput_many",
    "aunit_of_work",
    "connect",
    "consumer",
    "consumes",
    "declare_queue",
    "put",
    "put_many",
    "unit_of_work",
]
