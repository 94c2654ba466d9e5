"""Conversion between AMQP messages and stored messages; targets of anonymous relays."""

from __future__ import annotations

from broker.amqp.messages.convert import to_put, to_send

__all__ = ["to_put", "to_send"]
