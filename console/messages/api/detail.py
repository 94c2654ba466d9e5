"""One message over REST: read it, and explain why it is not delivered."""

from __future__ import annotations

from ninja import Router

from console.edges.rest.queries import serve_query
from console.messages.queries.detail import (
    explain_message,
    list_related_messages,
    read_message,
)

router = Router(tags=["messages"])
serve_query(router, "/messages/{int:message_id}", read_message)
serve_query(router, "/messages/{int:message_id}/explain", explain_message)
serve_query(router, "/messages/{int:message_id}/related", list_related_messages)
