"""Connect to a provider and log in."""

from __future__ import annotations

import socket
import ssl
from time import monotonic

from broker.amqp.protocol.sasl.client import ClientSasl
from broker.bridges.providers.amqp.options import Options
from broker.errors.bridges import (
    AccessRefused,
    ProviderError,
    ProviderLost,
    WrongFactory,
)

READ_BYTES = 65536
WRONG_PASSWORD = 1  # SASL code; higher codes are errors of the provider
LEAST_S = 0.001  # shortest time-out; 0 would make the socket non-blocking


def dial(options: Options) -> tuple[socket.socket, bytes]:
    """Connect and log in.

    Returns:
        A non-blocking socket, and the bytes received on it already.

    Raises:
        ProviderLost: there is no answer in time.
        AccessRefused: the name or the password is wrong.
        WrongFactory: the certificate is not trusted, or a file cannot be read.
    """
    deadline = monotonic() + options.connect_timeout_s
    where = f"{options.host}:{options.port}"
    context = tls(options) if options.is_secure else None
    try:
        made = socket.create_connection(
            (options.host, options.port), options.connect_timeout_s
        )
    except OSError as error:
        why = f"There is no answer from {where}: {reason(error)}."
        raise ProviderLost(options.factory, why) from error
    try:
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context is not None:
            patient(made, deadline)
            made = context.wrap_socket(made, server_hostname=options.host)
        rest = log_in(made, options, deadline)
    except BaseException as error:
        made.close()
        if isinstance(error, OSError):
            raise broken(options, where, error) from error
        raise
    made.setblocking(False)  # noqa: FBT003 - it has no other way
    return made, rest


def tls(options: Options) -> ssl.SSLContext:
    """The TLS context that verifies the provider's certificate.

    Raises:
        WrongFactory: a certificate file cannot be read.
    """
    try:
        context = ssl.create_default_context(cafile=options.ca_file or None)
        if options.cert_file:
            context.load_cert_chain(options.cert_file, options.key_file or None)
    except OSError as error:  # ssl raises it for invalid files, too
        why = (
            f"A file for TLS cannot be used: {reason(error)}. Correct ca-file,"
            " cert-file or key-file."
        )
        raise WrongFactory(options.factory, why) from error
    return context


def reason(error: OSError) -> str:
    return error.strerror or str(error) or type(error).__name__


def broken(options: Options, where: str, error: OSError) -> ProviderError:
    """The error of a connection that broke before the login was complete."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = (
            f"The certificate of {where} is not trusted: {error.verify_message}. Name"
            " the file of its authority in the property ca-file."
        )
        return WrongFactory(options.factory, why)
    if isinstance(error, TimeoutError):
        why = (
            f"{where} accepted the connection, but login did not end within"
            f" {options.connect_timeout_s:g} seconds."
        )
    else:
        why = f"The connection to {where} broke during login: {reason(error)}."
    return ProviderLost(options.factory, why)


def patient(made: socket.socket, deadline: float) -> None:
    """Set the socket's time-out so that it ends at the deadline."""
    left = deadline - monotonic()
    if left <= 0:
        raise TimeoutError
    made.settimeout(max(left, LEAST_S))


def log_in(made: socket.socket, options: Options, deadline: float) -> bytes:
    """Log in; return the bytes received after the SASL exchange.

    Raises:
        OSError: the connection broke, or nothing came in time.
    """
    sasl = ClientSasl(
        options.mechanisms,
        user=options.username,
        password=options.password,
        hostname=options.hostname,
    )
    while not sasl.over:
        patient(made, deadline)
        made.sendall(sasl.outgoing())
        data = made.recv(READ_BYTES)
        if not data:
            raise ConnectionError("the provider closed the connection during login")
        sasl.receive(data)
    if not sasl.succeeded:
        raise not_let_in(sasl, options)
    return sasl.rest()


def not_let_in(sasl: ClientSasl, options: Options) -> ProviderError:
    """The error for a failed login."""
    name = options.factory
    said = sasl.error.description if sasl.error is not None else ""
    if not sasl.mechanism:
        what = ", ".join(options.mechanisms)
        if said.startswith("the server offers"):
            return WrongFactory(
                name, f"The factory allows login by {what}, but {said}."
            )
        why = (
            f"The server does not speak AMQP 1.0: {said}. Correct the port; RabbitMQ"
            " needs its plugin rabbitmq_amqp1_0."
        )
        return WrongFactory(name, why)
    if sasl.code is not None and sasl.code > WRONG_PASSWORD:
        why = f"The provider accepts no login now: {said}."
        return ProviderLost(name, why)
    who = (
        f"the user {options.username!r}"
        if options.username
        else "a login without a user"
    )
    why = (
        f"The provider refuses {who}: {said}. Correct the name or the password"
        " of the factory."
    )
    return AccessRefused(name, why)
