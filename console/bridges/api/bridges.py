"""Bridges and their links over REST."""

from __future__ import annotations

from ninja import Router

from broker.acts.bridges import (
    commit_link_branch,
    pause_link,
    resubmit_through_link,
    resume_link,
    roll_back_link_branch,
    start_link,
    stop_link,
)
from console.bridges.queries import (
    list_bridges,
    list_link_branches,
    read_bridge,
    read_link,
    read_link_history,
)
from console.edges.rest.acts import serve
from console.edges.rest.queries import serve_query

BRIDGE = "/bridges/{queue:bridge}"
LINK = f"{BRIDGE}/links/{{queue:link}}"
BRANCH = f"{LINK}/branches/{{queue:xid}}"
router = Router(tags=["bridges"])
serve_query(router, "/bridges", list_bridges)
serve_query(router, BRIDGE, read_bridge)
serve_query(router, LINK, read_link)
serve(router, "POST", f"{LINK}/start", start_link)
serve(router, "POST", f"{LINK}/pause", pause_link)
serve(router, "POST", f"{LINK}/resume", resume_link)
serve(router, "POST", f"{LINK}/stop", stop_link)
serve(router, "POST", f"{LINK}/resubmit", resubmit_through_link)
serve_query(router, f"{LINK}/history", read_link_history)
serve_query(router, f"{LINK}/branches", list_link_branches)
serve(router, "POST", f"{BRANCH}/commit", commit_link_branch)
serve(router, "POST", f"{BRANCH}/roll-back", roll_back_link_branch)
