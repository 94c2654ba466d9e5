"""``backout uow`` and ``backout prepared``: open units of work."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument

from broker.acts.objects import find_unit
from broker.formats import moments
from broker.monitoring.backout_preview import rehearse
from broker.security import authorities
from broker.transactions import prepared_units
from broker.transactions.administration import OpenUnit
from broker.transactions.prepared_units import PreparedRow
from console.consumers import units_of_work as units
from console.edges.commands import actors, printing
from console.edges.commands.options import Json, Limit, User
from console.queues.backout_preview import forecast_of

Uow = Annotated[int, Argument(help="Its number.", min=1)]


def list_all(
    self: Any, *, limit: Limit = 50, user: User = None, json: Json = False
) -> None:
    """List the units of work that hold messages, the oldest first."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    held = authorities.held_by(person)
    names = units.visible_queues(held)
    found = units.listed(held, names, after=0, limit=limit)
    rows = [row_of(one, names) for one in found]
    empty = "No unit of work holds anything."
    self.tell_rows("units", rows, as_json=json, empty=empty)


def show(self: Any, uow: Uow, *, user: User = None, json: Json = False) -> None:
    """List the messages of one, and what a backout would do with each."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    held, names, found = visible_unit(person, uow)
    if json:
        told = row_of(found, names) | {"held": expected(held, names, found)}
        self.tell(told, "", as_json=True)
        return
    self.stdout.write(in_words(found))
    empty = "It holds no message that you may see."
    self.tell_rows("held", expected(held, names, found), as_json=False, empty=empty)


def list_prepared(self: Any, *, user: User = None, json: Json = False) -> None:
    """List the units of work that wait for their coordinator, the oldest first."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    waiting = prepared_units.waiting(authorities.held_by(person))
    rows = [prepared_document(one) for one in waiting]
    empty = "No unit of work is prepared."
    self.tell_rows("prepared", rows, as_json=json, empty=empty)


def visible_unit(
    person: authorities.Principal, uow: int
) -> tuple[authorities.GrantedAuthorities, dict[int, str], OpenUnit]:
    held = authorities.held_by(person)
    return held, units.visible_queues(held), find_unit(held, uow)


def expected(
    held: authorities.GrantedAuthorities, names: dict[int, str], found: OpenUnit
) -> list[dict[str, Any]]:
    """The messages that the user may see, and what becomes of each."""
    entries, _ = units.visible_entries(held, found.id, names)
    ending = units.ENDINGS[found.nature][0]
    fates = map(forecast_of, rehearse([one.held for one in entries], found.id, ending))
    return [
        {
            "message_id": one.held.id,
            "queue": names.get(one.held.queue_id, ""),
            "backout_count": one.held.backout_count,
            "expected": fate.what,
        }
        for one, fate in zip(entries, fates, strict=True)
    ]


def in_words(unit: OpenUnit) -> str:
    actor = printing.in_words(unit.actor) or "somebody"
    what = f"Unit of work {unit.id} of {actor} ({unit.nature.value})"
    return f"{what} holds {unit.entries:,} messages since {moments.in_utc(unit.since)}."


def row_of(unit: OpenUnit, names: dict[int, str]) -> dict[str, Any]:
    queues = units.queues_of(unit, names)
    plain = ("since", "deadline", "actor", "process", "is_alive", "xid")
    return {
        "id": unit.id,
        "nature": unit.nature.value,
        "messages": unit.entries,
        "queues": [one or "another queue" for one in queues],
        **{name: getattr(unit, name) for name in plain},
    }


def prepared_document(one: PreparedRow) -> dict[str, Any]:
    return {
        "uow": one.work.uow,
        "xid": one.work.xid,
        "got": [name or "a queue that is gone" for name in one.got],
        "to": one.to,
        "may_decide": one.may_decide,
    }
