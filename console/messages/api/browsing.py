"""Queues, and browsing their messages, over REST."""

from __future__ import annotations

from ninja import Router

from console.edges.rest.queries import serve_query
from console.messages.queries.browsing import browse_queue
from console.messages.queries.queues import list_queues, read_queue

router = Router(tags=["queues"])
serve_query(router, "/queues", list_queues)
serve_query(router, "/queues/{queue:name}", read_queue, name="queue")
serve_query(router, "/queues/{queue:name}/messages", browse_queue, name="queue")
