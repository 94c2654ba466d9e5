"""Repairs over REST: resubmits with a patch, the patch of a plan, and its preview.

A patch is the JSON described in ``docs/repair.md``, with all digits of its numbers.
"""

from __future__ import annotations

from django.http import Http404, HttpRequest
from ninja import Path, Router

from broker.acts.operations.patches import (
    PatchPreview,
    drop_patch,
    preview_patch,
    set_patch,
)
from broker.acts.operations.resubmits import plan_resubmit
from broker.acts.operations.rights import require_reading
from broker.monitoring.visible_search import BROWSE
from console.edges.rest.acts import serve
from console.edges.rest.problems import REFUSED, require
from console.operations.api.operations import visible_operation

router = Router(tags=["repairs"])

PATCH = "/operations/{int:operation_id}/patch"

serve(router, "POST", "/resubmits", plan_resubmit)


@router.get(
    PATCH,
    response={200: PatchPreview, **REFUSED},
    summary="What the patch of a plan would change",
)
def read_preview(request: HttpRequest, operation_id: Path[int]) -> PatchPreview:
    """The preview. Values are shown to callers who may read the messages."""
    plan, _ = visible_operation(request, operation_id)
    require(request, BROWSE)
    require_reading(request.user, plan)
    preview = preview_patch(request.user, plan)
    if preview is None:
        raise Http404(f"patch of operation {operation_id}")
    return preview


serve(router, "PUT", PATCH, set_patch, operation_id="operation")
serve(router, "DELETE", PATCH, drop_patch, operation_id="operation")
