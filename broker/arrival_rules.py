"""When what arrives at an address expires, as the address's settings have it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from broker.storing import NewMessage


def applied(
    address: str, messages: Sequence[NewMessage], *, now: datetime | None
) -> list[NewMessage]:
    """The messages with the expiry that the address's settings give them."""
    return list(messages)
