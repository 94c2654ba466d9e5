"""``backout history`` and ``audit``: what queues did over time, and people."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from typing import Annotated, Any

from django.core.management.base import CommandError
from django.utils import timezone
from typer import Argument, Option

from broker.monitoring.history import reading
from broker.security import audit
from broker.security.audit import AuditFilter
from console.accounts.permissions import AUDIT
from console.audit.queries import record_document
from console.edges import actors
from console.edges.actors import USAGE
from console.edges.options import Json, Limit, User, moment
from console.queues import over_time

Name = Annotated[str, Argument(help="Which.")]
Span = Annotated[str, Option("--range", help=f"{', '.join(over_time.RANGES)}.")]
Begin = Annotated[str, Option("--from", help="2026-05-14T02:00Z; or of TIME_ZONE.")]
End = Annotated[str, Option("--to", help="A time; without it, now.")]
Actor = Annotated[str, Option(help="Only what this actor did.")]
ActName = Annotated[
    str, Option("--act", help="Only this act, or the part before its dot.")
]
About = Annotated[str, Option("--object", help="Only of this, as queue:orders.")]
SHOWN = ("number", "at", "actor", "act", "object_kind", "object_name", "reason")


def of_queue(  # noqa: PLR0913  # the subcommand's options
    self: Any,
    name: Name,
    *,
    span: Span = over_time.USUAL,
    begin: Begin = "",
    end: End = "",
    user: User = None,
    json: Json = False,
) -> None:
    """List what one queue did, step by step."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    ids = [actors.queue(person, name).pk]
    tell(self, ids, (span, begin, end), as_json=json)


def of_all(
    self: Any,
    *,
    span: Span = over_time.USUAL,
    begin: Begin = "",
    end: End = "",
    user: User = None,
    json: Json = False,
) -> None:
    """List what all queues did together, without queues of dead letters."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    ids = over_time.ids_of_every_queue(person)
    tell(self, ids, (span, begin, end), as_json=json)


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


def tell(
    command: Any, ids: Collection[int], range_: tuple[str, str, str], *, as_json: bool
) -> None:
    """The steps of a range; in tables only those of which something is known."""
    now, (span, begin, end) = timezone.now(), range_
    try:
        asked = over_time.Range.of(
            span,
            moment(begin, "--from"),
            moment(end, "--to"),
            now=now,
        )
    except over_time.NoRange as error:
        raise CommandError(str(error), returncode=USAGE) from None
    found = reading.read(ids, asked.begin, asked.end, now=now)
    rows = [asdict(one) for one in found.points if one is not None]
    empty = "Nothing is known of that time."
    command.tell_rows("points", rows, as_json=as_json, empty=empty)
