"""Settings of the broker: what there is, what becomes of messages, who may do what.

Nothing of messages or entries is here: those are the console's.
"""

from __future__ import annotations

from django.contrib import admin

from broker.admin import addresses, authorities, bridges, queues, redaction

__all__ = ["addresses", "authorities", "bridges", "queues", "redaction"]

admin.site.site_header = "Backout settings"
admin.site.site_title = "Backout settings"
admin.site.index_title = "What the broker does with messages, and who may do what"
