"""AMQP 1.0, as a client: ActiveMQ, Artemis, another listener of this broker, RabbitMQ.

    options ─▶ dialling ─▶ wire ─▶ session ─▶ subscription   receive, acknowledge
                                          ├─▶ outbox         send
                                          └─▶ transactions   begin, commit, roll back

The protocol is ``broker.amqp.protocol``, the same engine that the listener uses. Here
it waits on a socket, in the thread that calls.
"""

from broker.bridges.providers.amqp.session import connect

__all__ = ["connect"]
