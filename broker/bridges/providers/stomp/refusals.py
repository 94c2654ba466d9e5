"""The meaning of ERROR frames. They have no codes, so their English texts are
compared."""

from __future__ import annotations

import re
from collections.abc import Mapping

from stomp.utils import Frame

from broker.bridges.providers.stomp.options import Options
from broker.errors.bridges import (
    AccessRefused,
    Hold,
    ProviderError,
    ProviderLost,
    SendRefused,
    WrongFactory,
)

LONGEST = 300  # most characters of a server's text
FIRST_LINE = re.compile(r"[^\r\n]*")
AT_LOGIN: Mapping[str, type[ProviderError]] = {
    r"already connected|already in use|already exists": ProviderLost,
    r"virtual host|vhost|version": WrongFactory,
    r"password|access.refused|authenti|credential|not authorized|denied|security"
    r"|login": AccessRefused,
}
OF_A_DESTINATION = re.compile(
    r"not authorized|access.refused|permission|denied|security|not.found|no such"
    r"|not exist|illegal destination|invalid destination|unknown destination",
    re.I,
)


def error_text(frame: Frame) -> str:
    """The text of a server's ERROR, on one line."""
    body = bytes(frame.body or b"").decode(errors="replace").strip()
    headline = str(frame.headers.get("message") or "").strip()
    first = FIRST_LINE.match(body)
    line = first[0] if first else ""
    parts = [headline] if headline in line or not line else [headline, line]
    text = line if headline and headline in line else ": ".join(filter(None, parts))
    return text[:LONGEST] or "it gave no reason"


def at_login(options: Options, frame: Frame) -> ProviderError:
    """The error for a refused login."""
    said = error_text(frame)
    kind = next(
        (kind for words, kind in AT_LOGIN.items() if re.search(words, said, re.I)),
        ProviderLost,
    )
    what = {
        AccessRefused: "refuses this name and password",
        WrongFactory: "refuses the settings of this factory",
        ProviderLost: "accepts no login",
    }[kind]
    return kind(options.name, f"{options.place} {what}: {said}")


def at_subscription(options: Options, frame: Frame, destination: str) -> WrongFactory:
    why = f"It refused the subscription to {destination}: {error_text(frame)}"
    return WrongFactory(options.name, why)


def at_send(
    options: Options, frame: Frame, destination: str
) -> WrongFactory | SendRefused:
    """The error for a refused SEND; it concerns the destination, or one message
    only."""
    said = error_text(frame)
    if OF_A_DESTINATION.search(said):
        return WrongFactory(
            options.name, f"It refused a message for {destination}: {said}"
        )
    why = f"{destination} refused the message: {said}"
    return SendRefused(options.name, why, Hold.from_text(said))
