"""Django admin for the settings of the broker: queues, policy, authorities, bridges.

It shows no messages and no entries; these are in the console.
"""

from __future__ import annotations

from django.contrib import admin

from broker.admin import addresses, authorities, bridges, queues, redaction

__all__ = ["addresses", "authorities", "bridges", "queues", "redaction"]

admin.site.site_header = "Backout settings"
admin.site.site_title = "Backout settings"
admin.site.index_title = "What the broker does with messages, and who may do what"
