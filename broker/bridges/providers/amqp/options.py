"""Options of an AMQP connection factory, parsed and checked.

=======================  ============================================================
A property               is
=======================  ============================================================
``timeout-s``            seconds to wait for an answer; 30
``idle-timeout``         seconds of silence after which the provider is lost; 60
``queue-prefix``         prefix of queue names, as ``/queue/``; by default the
                         prefix that the provider announces
``topic-prefix``         the same for topics, as ``/topic/``
``hostname``             the hostname in the open; RabbitMQ takes ``vhost:NAME``
``sasl-mechanisms``      mechanisms to use, best first, separated by commas
``ca-file``              certificate of the CA of the provider's certificate
``cert-file``            our client certificate, if the provider wants one
``key-file``             its key, if that is in another file
=======================  ============================================================
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from broker.amqp.protocol.sasl.exchange import ANONYMOUS, EXTERNAL, PLAIN, SCRAM
from broker.bridges.providers.interface import Factory
from broker.errors.bridges import WrongFactory

PORTS = {"amqp": 5672, "amqps": 5671}
SECURE = "amqps"
TIMEOUT_S, IDLE_TIMEOUT_S = 30.0, 60.0
MECHANISMS = (SCRAM, PLAIN, EXTERNAL, ANONYMOUS)


@dataclass(frozen=True, slots=True)
class Options:
    """The parsed options of a connection factory."""

    factory: str  # name of the factory
    host: str
    port: int
    hostname: str  # hostname in our open
    is_secure: bool
    username: str
    password: str = field(repr=False)
    mechanisms: tuple[str, ...]
    container_id: str
    has_client_id: bool
    connect_timeout_s: float
    timeout_s: float
    idle_timeout_s: float
    # Prefix of queue addresses; None: the provider's own prefix.
    queue_prefix: str | None = None
    # Prefix of topic addresses; None: the provider's own prefix.
    topic_prefix: str | None = None
    ca_file: str = ""
    cert_file: str = ""
    key_file: str = ""


def options(factory: Factory) -> Options:
    """Parse the options of a factory.

    Raises:
        WrongFactory: a property cannot be used.
    """
    parts, said = urlsplit(factory.url), factory.properties
    host = parts.hostname or ""
    username = factory.username or unquote(parts.username or "")
    return Options(
        factory=factory.name,
        host=host,
        port=parts.port or PORTS[parts.scheme],
        hostname=said.get("hostname") or host,
        is_secure=parts.scheme == SECURE,
        username=username,
        password=factory.password or unquote(parts.password or ""),
        mechanisms=mechanisms(factory, username),
        container_id=factory.client_id or f"backout-{uuid4().hex}",
        has_client_id=bool(factory.client_id),
        connect_timeout_s=factory.connect_timeout_s,
        timeout_s=seconds(factory, "timeout-s", TIMEOUT_S),
        idle_timeout_s=seconds(factory, "idle-timeout", IDLE_TIMEOUT_S),
        queue_prefix=said.get("queue-prefix"),
        topic_prefix=said.get("topic-prefix"),
        ca_file=said.get("ca-file", ""),
        cert_file=said.get("cert-file", ""),
        key_file=said.get("key-file", ""),
    )


def seconds(factory: Factory, name: str, usual: float) -> float:
    written = factory.properties.get(name, "")
    if not written:
        return usual
    try:
        number = float(written)
    except ValueError:
        number = 0.0
    if not isfinite(number) or number <= 0:
        why = f"{name} is {written!r}. Write a number of seconds above 0."
        raise WrongFactory(factory.name, why)
    return number


def mechanisms(factory: Factory, username: str) -> tuple[str, ...]:
    """The SASL mechanisms to use, the best first."""
    written = factory.properties.get("sasl-mechanisms", "")
    if written:
        asked = tuple(one.strip().upper() for one in written.split(","))
        if unknown := [one for one in asked if one not in MECHANISMS]:
            why = (
                f"sasl-mechanisms names {unknown[0]!r}. These are known:"
                f" {', '.join(MECHANISMS)}."
            )
            raise WrongFactory(factory.name, why)
        return asked
    if username:
        return SCRAM, PLAIN
    return (
        (EXTERNAL, ANONYMOUS) if factory.properties.get("cert-file") else (ANONYMOUS,)
    )
