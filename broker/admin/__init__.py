"""Django admin for the settings of the broker: queues, policy, authorities, bridges.

It shows no messages and no entries; these are in the console.
"""

from __future__ import annotations

from django.apps import apps

from broker.admin import (
    addresses,
    alerts,
    authorities,
    bridges,
    labels,
    queues,
    recurring,
    redaction,
)

__all__ = [
    "addresses",
    "alerts",
    "authorities",
    "bridges",
    "labels",
    "queues",
    "recurring",
    "redaction",
]

labels.mark(apps.get_app_config("broker").get_models())
