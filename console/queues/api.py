"""Acts on queues, their counters, and what queues did over time, over REST."""

from __future__ import annotations

from ninja import Router

from broker.acts.queues import (
    pause_queue,
    reset_counters,
    resume_queue,
    start_delivery,
)
from console.edges.rest.acts import serve
from console.edges.rest.queries import serve_query
from console.queues.queries import read_counters, read_history, read_total_history

QUEUE = "/queues/{queue:name}"
router = Router(tags=["queues"])
serve_query(router, f"{QUEUE}/history", read_history, name="queue")
serve_query(router, "/history", read_total_history)
serve_query(router, f"{QUEUE}/counters", read_counters, name="queue")
serve(router, "POST", f"{QUEUE}/pause", pause_queue, name="queue")
serve(router, "POST", f"{QUEUE}/resume", resume_queue, name="queue")
serve(router, "POST", f"{QUEUE}/counters/reset", reset_counters, name="queue")
serve(router, "POST", f"{QUEUE}/start-delivery", start_delivery, name="queue")
