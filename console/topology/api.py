"""The topology over REST."""

from __future__ import annotations

from ninja import Router

from console.edges.rest.queries import serve_query
from console.topology.queries import read_topology

router = Router(tags=["queues"])
serve_query(router, "/topology", read_topology)
