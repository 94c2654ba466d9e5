"""The transformer of an installed application."""

from __future__ import annotations

from broker.bridges.transformers.registry import Context, transforms
from broker.queueing.store import NewMessage


@transforms("test-discovered")
def found(message: NewMessage, _: Context) -> NewMessage:
    """It is found.

    And what else there is to say.
    """
    return message
