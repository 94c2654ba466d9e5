"""AMQP messages as the broker stores them, and back; and where they say they go."""

from __future__ import annotations

from broker.amqp.messages.convert import to_put, to_send

__all__ = ["to_put", "to_send"]
