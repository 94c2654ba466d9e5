"""The audit over REST."""

from __future__ import annotations

from ninja import Router

from console.audit.records import list_records
from console.edges.rest.queries import serve_query

router = Router(tags=["audit"])
serve_query(router, "/audit", list_records)
