"""Records of the audit, for REST and commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar, Literal

from broker.acts.declaring import Holds
from broker.models import AuditRecord
from broker.security import audit
from broker.security.audit import AuditFilter
from broker.security.authorities import Principal
from console.edges.permissions import AUDIT
from console.edges.queries import LARGEST, build_answer, declared_query, page_of


@dataclass(frozen=True, slots=True)
class Record:
    """One action, or a denied attempt; its hash can be verified from this."""

    columns: ClassVar[Sequence[str]] = (
        *("number", "at", "actor", "act", "object_kind", "object_name", "reason"),
    )

    id: int
    number: int | None  # its number in the hash chain
    at: str  # in UTC and ISO 8601, with microseconds, as it is hashed
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


@dataclass(frozen=True, slots=True)
class Records:
    """A page of records; the next page begins after ``next``."""

    empty: ClassVar = "There is no such record."

    records: list[Record]
    next: int | None


@dataclass(frozen=True, slots=True)
class ListRecords:
    """Which records, and the size of the page."""

    actor: Annotated[str, Holds("Only what this actor did.", most=500)] = ""
    act: Annotated[
        str, Holds("Only this action, or the part before its dot.", most=100)
    ] = ""
    object: Annotated[
        str,
        Holds(
            "Only records about this object: its name, or its kind and name,"
            " such as queue:orders.",
            most=500,
        ),
    ] = ""
    outcome: Annotated[
        Literal["", "done", "refused"], Holds("Only what was done, or refused.")
    ] = ""
    since: Annotated[datetime | None, Holds("From when.", is_past=True)] = None
    until: Annotated[datetime | None, Holds("Up to when.", is_past=True)] = None
    operation: Annotated[
        int | None, Holds("Only of this operation.", least=0, most=LARGEST)
    ] = None
    after: Annotated[
        int | None,
        Holds("The record after which the page begins.", least=0, most=LARGEST),
    ] = None
    limit: Annotated[int, Holds("The most records to return.", least=1, most=500)] = 50


@declared_query(AUDIT)
def list_records(actor: Principal, request: ListRecords) -> Records:
    """The records of the audit, the newest first."""
    facts = asdict(request)
    before, limit = facts.pop("after"), facts.pop("limit")
    found = list(audit.found(AuditFilter(**facts), before=before)[: limit + 1])
    part, following = page_of(found, limit, lambda one: one.pk)
    return Records(
        [record_of(one) for one in part],
        following,
    )


def record_of(one: AuditRecord) -> Record:
    at = one.at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return build_answer(Record, one, at=at, detail=one.details)
