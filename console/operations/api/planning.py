"""Operations over REST: listed, and planned.

A plan is an operation without effect: the messages are fixed, and it says which queues
they are on and the target. It is then started.
"""

from __future__ import annotations

from ninja import Router

from broker.acts.operations.planning import plan_operation
from console.edges.rest.acts import serve
from console.edges.rest.queries import serve_query
from console.operations.queries import list_operations

router = Router(tags=["operations"])
serve_query(router, "/operations", list_operations)
serve(router, "POST", "/operations", plan_operation)
