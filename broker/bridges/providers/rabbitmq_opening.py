"""Open a connection to RabbitMQ, and convert its errors to errors of links."""

from __future__ import annotations

import re
import ssl
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import amqp

from broker.bridges.providers.interface import Factory
from broker.bridges.providers.rabbitmq_wire import RabbitMQConnection
from broker.errors.bridges import (
    AccessRefused,
    ProviderError,
    ProviderLost,
    WrongFactory,
)

PORTS = {"amqp": 5672, "amqps": 5671}
MISSING = re.compile(r"no (queue|exchange) '(.*)' in vhost '(.*)'")


def opened(factory: Factory) -> RabbitMQConnection:
    """A connection that has logged in.

    Raises:
        ProviderLost: the server does not answer.
        AccessRefused: the name or the password is wrong.
        WrongFactory: the URL or a property is invalid.
    """
    parts = urlsplit(factory.url)
    user = factory.username or unquote(parts.username or "") or "guest"
    password = factory.password or unquote(parts.password or "") or "guest"
    connection = RabbitMQConnection(
        host=address_of(parts),
        userid=user,
        password=password,
        login_method="PLAIN",
        virtual_host=unquote(parts.path[1:]) or "/",
        ssl=encryption(factory, parts),
        connect_timeout=factory.connect_timeout_s,
        client_properties={"connection_name": factory.client_id or factory.name},
    )
    try:
        connection.connect()
    except (OSError, amqp.AMQPError, ValueError) as error:
        with suppress(OSError):
            connection.collect()
        raise refused(factory, error) from error
    return connection


def address_of(parts: SplitResult) -> str:
    host = parts.hostname or ""
    bare = f"[{host}]" if ":" in host else host
    return f"{bare}:{parts.port or PORTS[parts.scheme]}"


def encryption(factory: Factory, parts: SplitResult) -> Any:
    """py-amqp's options for TLS; without them, it would not verify certificates."""
    if parts.scheme != "amqps":
        return False
    asked = factory.properties
    return {
        "cert_reqs": ssl.CERT_REQUIRED,
        "server_hostname": parts.hostname,
        "ca_certs": asked.get("ca-file"),
        "certfile": asked.get("cert-file"),
        "keyfile": asked.get("key-file"),
    }


def refused(factory: Factory, error: Exception) -> ProviderError:
    """The error for a failed connection."""
    where = address_of(urlsplit(factory.url))
    if isinstance(error, amqp.AccessRefused):
        why = f"{where} refuses this name and password. Correct them."
        return AccessRefused(factory.name, why)
    if isinstance(error, amqp.NotAllowed):
        said = f"{where} says: {error.reply_text}."
        if "not found" in str(error.reply_text):
            why = f"{said} Create the virtual host there, or correct the URL."
            return WrongFactory(factory.name, why)
        return AccessRefused(factory.name, f"{said} Give the user access there.")
    if isinstance(error, ssl.SSLCertVerificationError | FileNotFoundError):
        why = (
            f"The certificate of {where} cannot be verified: {error}. Name the file of"
            " its certificate authority in the factory's property ca-file."
        )
        return WrongFactory(factory.name, why)
    return provider_error(factory, error, "")


def provider_error(
    factory: Factory, error: Exception, destination: str
) -> ProviderError:
    """The link's provider error for an error of py-amqp."""
    where = address_of(urlsplit(factory.url))
    text = str(getattr(error, "reply_text", None) or error)
    if isinstance(error, amqp.NotFound):
        found = MISSING.search(text)
        kind, name, vhost = found.groups() if found else ("destination", text, "?")
        why = (
            f"There is no {kind} {name!r} at {where}, virtual host {vhost!r}; create it"
            " there, or correct the destination."
        )
        return WrongFactory(factory.name, why)
    if isinstance(error, amqp.AccessRefused | amqp.ResourceLocked):
        why = f"{where} refuses {destination}: {text}. Give the user access there."
        return WrongFactory(factory.name, why)
    if isinstance(error, amqp.ConsumerCancelled):
        what = destination or "a subscription"
        text = f"the queue of {what} was deleted, or moved to another node"
    elif isinstance(error, TimeoutError):
        text = f"it did not answer in time. {error}"
    return ProviderLost(
        factory.name, f"The connection to {where} is lost: {text.strip('. ')}."
    )
