"""Django admin for the settings of the broker: queues, policy, authorities, bridges.

It shows no messages and no entries; these are in the console.
"""

from __future__ import annotations

from broker.admin import (
    addresses,
    alerts,
    authorities,
    bridges,
    queues,
    recurring,
    redaction,
)

__all__ = [
    "addresses",
    "alerts",
    "authorities",
    "bridges",
    "queues",
    "recurring",
    "redaction",
]
