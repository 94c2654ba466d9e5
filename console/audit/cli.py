"""``backout audit``: what people did."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Option

from broker.security import audit
from broker.security.audit import AuditFilter
from console.audit.queries import record_document
from console.edges.commands import actors
from console.edges.commands.options import Json, Limit, User, moment
from console.edges.permissions import AUDIT

Begin = Annotated[str, Option("--from", help="2026-05-14T02:00Z; or of TIME_ZONE.")]
End = Annotated[str, Option("--to", help="A time; without it, now.")]
Actor = Annotated[str, Option(help="Only what this actor did.")]


ActName = Annotated[
    str, Option("--act", help="Only this act, or the part before its dot.")
]


About = Annotated[str, Option("--object", help="Only of this, as queue:orders.")]


SHOWN = ("number", "at", "actor", "act", "object_kind", "object_name", "reason")


def list_records(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    *,
    actor: Actor = "",
    act: ActName = "",
    about: About = "",
    since: Begin = "",
    until: End = "",
    limit: Limit = 50,
    user: User = None,
    json: Json = False,
) -> None:
    """List records of the audit, the newest first."""
    person = actors.acting(user)
    actors.require(person, AUDIT)
    begin, end = moment(since, "--since"), moment(until, "--until")
    wanted = AuditFilter(actor=actor, act=act, object=about, since=begin, until=end)
    rows = [record_document(one) for one in audit.found(wanted)[:limit]]
    if not json:
        rows = [{name: row[name] for name in SHOWN} for row in rows]
    self.tell_rows("records", rows, as_json=json, empty="There is no such record.")
