"""The audit log: records that match a query, the newest first."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import AwareDatetime, Field

from broker.security import audit
from broker.security.audit import AuditFilter
from console.audit.queries import record_document
from console.edges.permissions import AUDIT
from console.edges.rest.problems import NO_NUL, REFUSED, require

router = Router(tags=["audit"])


class Record(Schema):
    """One action, or a denied attempt."""

    id: int
    number: int | None  # its number in the hash chain
    at: datetime
    actor_kind: str
    actor_id: int | None
    actor: str
    source: str  # the client's host; empty for commands
    act: str
    object_kind: str
    object_id: str
    object_name: str
    outcome: str
    reason: str
    detail: dict[str, Any]
    operation_id: int | None
    hash: str | None


class Records(Schema):
    """A page of records; the next page begins after ``next``."""

    records: list[Record]
    next: int | None


class AuditQuery(Schema):
    """Which records, and the size of the page."""

    actor: str = Field(default="", max_length=500, pattern=NO_NUL)
    act: str = Field(default="", max_length=100, pattern=NO_NUL)
    object: str = Field(default="", max_length=500, pattern=NO_NUL)
    outcome: Literal["", "done", "refused"] = ""
    since: AwareDatetime | None = None
    until: AwareDatetime | None = None
    operation: int | None = Field(default=None, ge=0, lt=2**63)
    after: int | None = Field(default=None, ge=0, lt=2**63)
    limit: int = Field(default=50, ge=1, le=500)


@router.get(
    "/audit", response={200: Records, **REFUSED}, summary="The records of the audit"
)
def list_records(request: HttpRequest, page: Query[AuditQuery]) -> dict[str, Any]:
    """Matching records, the newest first. ``object`` is a name, or a kind and a name
    such as ``queue:orders``; ``act`` is one action, or the part before its dot.
    """
    require(request, AUDIT)
    said = page.dict()
    wanted = AuditFilter(
        **{name: said[name] for name in AuditFilter.__dataclass_fields__}
    )
    found = list(audit.found(wanted, before=page.after)[: page.limit + 1])
    part = found[: page.limit]
    return {
        "records": [record_document(one) | {"id": one.pk} for one in part],
        "next": part[-1].pk if len(found) > page.limit else None,
    }
