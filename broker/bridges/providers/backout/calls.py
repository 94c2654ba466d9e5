"""Calls of another Backout's REST API, on one persistent connection.

Each call is one request. If the connection breaks, it is unknown whether the request
was done; it is not repeated here. A connection closed by the other side while idle is
opened again.
"""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from select import select
from socket import socket
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from broker.amqp.messages.batches import CONTENT_TYPE
from broker.bridges.providers.interface import Factory
from broker.errors.bridges import (
    AccessRefused,
    Hold,
    ProviderError,
    ProviderLost,
    SendRefused,
    WrongFactory,
)

API = "/api/v1/"
ANSWER_S = 60.0  # time-out of an answer, in addition to the wait for messages
CA_FILE, LEASE = "ca-file", "lease-s"
KNOWN = {CA_FILE, LEASE}
USUAL_LEASE_S, LONGEST_LEASE_S = 120, 43_200
JSON = "application/json"
OTHERS = re.compile(rb"[^A-Za-z0-9._-]")
GONE = "no-such-xid"
BUSY = (408, 425, 429)


class Refused(NamedTuple):
    """A refusal from the other Backout."""

    status: int
    code: str  # a stable code
    detail: str  # a sentence for people


class Calls:
    """The connection to another Backout.

    Args:
        factory: the factory, with URL and secret.

    Raises:
        WrongFactory: a property of it is invalid.
        AccessRefused: its password cannot be a secret.
    """

    def __init__(self, factory: Factory) -> None:
        self.factory = factory
        parts = urlsplit(factory.url)
        self.base = parts.path.rstrip("/") + API
        self.lease_s = lease_of(factory)
        self.line = line_to(factory)
        if not factory.password.isascii() or not factory.password.isprintable():
            why = "The password is not a credential's secret. Copy the secret again."
            raise AccessRefused(factory.name, why)

    def json(self, path: str, said: Mapping[str, Any]) -> Any:
        """Post JSON; return the JSON of the answer."""
        return json.loads(self.post(path, json.dumps(said).encode(), JSON))

    def batch(self, path: str, body: bytes, **query: str) -> Any:
        """Post a batch of messages; return the JSON of the answer."""
        if query:
            path = f"{path}?{urlencode(query)}"
        return json.loads(self.post(path, body, CONTENT_TYPE))

    def get(self, path: str, **query: str) -> Any:
        """Send a GET request; return the JSON of the answer."""
        return json.loads(self.ask("GET", f"{path}?{urlencode(query)}", None, {}))

    def post(self, path: str, body: bytes, content_type: str) -> bytes:
        """Send a POST request with a body; return the body of the answer."""
        return self.ask("POST", path, body, {"Content-Type": content_type})

    def decide(self, xid: str, decision: str, **said: Any) -> None:
        """Send a decision about a prepared branch, ``commit`` or ``back-out``. No
        effect if there is none of this name.

        Raises:
            ProviderLost: also if it is refused; the branch stays prepared.
        """
        try:
            self.json(f"branches/{xid}/{decision}", said)
        except Answered as error:
            if error.refused.code != GONE:
                raise error.as_lost() from error

    def ask(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> bytes:
        """Send a request, and read the answer.

        Raises:
            ProviderLost: the connection broke, and it is unknown whether the request
                was done; or the other side cannot do it now, and it was not done.
            AccessRefused: the secret is unknown, or lacks an authority.
            Answered: it was refused, and not done.
        """
        said = {"Authorization": f"Bearer {self.factory.password}", **headers}
        try:
            self.see_to_line()
            self.line.request(method, self.base + path, body, said)
            answer = self.line.getresponse()
            content = answer.read()
        except ssl.SSLCertVerificationError as error:
            self.close()
            raise WrongFactory(self.factory.name, not_trusted(error)) from error
        except (OSError, HTTPException) as error:
            self.close()
            raise self.lost(reason_of(error)) from error
        except BaseException:
            # Otherwise a late answer could be read as the answer to the next request.
            self.close()
            raise
        if answer.status == 200:
            return content
        raise self.failure(answer, content)

    def see_to_line(self) -> None:
        """Connect if there is no connection. A connection with unexpected input is
        closed first: the other side closes idle connections after some seconds."""
        sock: socket | None = self.line.sock
        if sock is None or select([sock], [], [], 0)[0]:
            self.line.close()
            self.line.connect()
            self.line.sock.settimeout(ANSWER_S)

    def failure(self, answer: HTTPResponse, content: bytes) -> ProviderError:
        """The error for an answer whose status is not a success."""
        status, name = answer.status, self.factory.name
        refused = problem_of(status, content)
        if status in (401, 403):
            return AccessRefused(name, refused.detail)
        if status >= 500 or status in BUSY:
            return self.lost(f"It answers with status {status}: {refused.detail}")
        if status < 400 or not refused.code:
            why = (
                f"{self.factory.url} answers with status {status} and is not a Backout."
                " Correct the URL."
            )
            return WrongFactory(name, why)
        return Answered(name, refused)

    def lost(self, why: str) -> ProviderLost:
        return ProviderLost(self.factory.name, why)

    def close(self) -> None:
        """Close the connection. May be called twice."""
        self.line.close()


class Answered(ProviderError):
    """The other Backout has refused a request, and has done nothing."""

    def __init__(self, factory: str, refused: Refused) -> None:
        super().__init__(factory, refused.detail)
        self.refused = refused

    def as_send_refused(self) -> SendRefused:
        return SendRefused(self.factory, self.why, Hold.from_text(self.why))

    def as_wrong(self) -> WrongFactory:
        return WrongFactory(self.factory, self.why)

    def as_lost(self) -> ProviderLost:
        return ProviderLost(self.factory, self.why)


def line_to(factory: Factory) -> HTTPConnection:
    """A connection, not opened yet.

    Raises:
        WrongFactory: the file with certificates cannot be read.
    """
    parts = urlsplit(factory.url)
    host = parts.hostname or ""
    if parts.scheme == "http":
        return HTTPConnection(host, parts.port, timeout=factory.connect_timeout_s)
    file = factory.properties.get(CA_FILE)
    try:
        context = ssl.create_default_context(cafile=file)
    except OSError as error:
        why = f"The certificates of ca-file {file!r} cannot be read: {error}"
        raise WrongFactory(factory.name, why) from error
    return HTTPSConnection(
        host, parts.port, timeout=factory.connect_timeout_s, context=context
    )


def lease_of(factory: Factory) -> int:
    """The lease of received messages, in seconds.

    Raises:
        WrongFactory: the lease is invalid, or there is an unknown property.
    """
    if unknown := sorted(factory.properties.keys() - KNOWN):
        known = ", ".join(sorted(KNOWN))
        why = f"There is no property {unknown[0]!r}. These exist: {known}."
        raise WrongFactory(factory.name, why)
    text = factory.properties.get(LEASE, str(USUAL_LEASE_S))
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        text = "0"
    if not 1 <= int(text) <= LONGEST_LEASE_S:
        why = f"{LEASE} is a number of seconds, from 1 to {LONGEST_LEASE_S}."
        raise WrongFactory(factory.name, why)
    return int(text)


def problem_of(status: int, content: bytes) -> Refused:
    """The problem document of an answer; its code is empty if the answer has no such
    document."""
    try:
        found = json.loads(content)
        return Refused(status, found["code"], found["detail"])
    except (ValueError, KeyError, TypeError):
        return Refused(status, "", "It gave no reason.")


def not_trusted(error: ssl.SSLCertVerificationError) -> str:
    return (
        f"Its certificate is not trusted: {error.verify_message}. Name the file of the"
        f" authority that signed it in the property {CA_FILE}, or correct the host."
    )


def reason_of(error: Exception) -> str:
    """The reason that a connection broke, as a sentence."""
    what = str(error) or type(error).__name__
    return f"The connection broke, or there is no answer: {what}."


def in_url(name: str) -> str:
    """A queue's name, escaped for a URL: ``orders.#`` is ``orders.~23``."""
    if name in (".", ".."):
        return name.replace(".", "~2E")
    return OTHERS.sub(lambda one: b"~%02X" % one[0][0], name.encode()).decode()
