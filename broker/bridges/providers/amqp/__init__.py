"""AMQP 1.0, as a client: ActiveMQ, Artemis, another listener of this broker, RabbitMQ.

    options ─▶ dialling ─▶ wire ─▶ session ─▶ subscription   receive, acknowledge
                                          ├─▶ outbox         send
                                          └─▶ transactions   begin, commit, roll back

The protocol engine is ``broker.amqp.protocol``, as for the listener. Here the calling
thread waits on the socket.
"""

from broker.bridges.providers.amqp.session import connect

__all__ = ["connect"]
