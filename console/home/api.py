"""What is wrong now, over REST."""

from __future__ import annotations

from ninja import Router

from console.edges.rest.queries import serve_query
from console.home.queries import list_problems, read_health

router = Router(tags=["health"])
serve_query(router, "/problems", list_problems)
serve_query(router, "/health", read_health)
