"""When what arrives at an address expires, as the address's settings have it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from broker.storing import NewMessage


def lifetime_ms(address: str) -> int | None:
    """How long a copy without an expiry of its own lives on an address; None: for ever."""
    return None


def applied(
    address: str, messages: Sequence[NewMessage], *, now: datetime | None
) -> list[NewMessage]:
    """The messages with the expiry that the address's settings give them."""
    return list(messages)
