"""``backout operation``: the list, and one operation."""

from __future__ import annotations

from typing import Annotated, Any

from typer import Argument

from broker.acts.operations.ledgers import counts_of
from broker.acts.operations.rights import find_operation, visible_operations
from broker.acts.operations.states import ABOUT, OperationState, read_state
from broker.security import authorities
from broker.security.authorities import Principal
from console.edges.answers import adapter_of
from console.edges.commands import actors, printing
from console.edges.commands.options import Json, Limit, User

Number = Annotated[int, Argument(help="Its number.")]


def list_all(
    self: Any, *, limit: Limit = 50, user: User = None, json: Json = False
) -> None:
    """List operations, the newest first."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    found = list(
        visible_operations(person).select_related(*ABOUT).order_by("-pk")[:limit]
    )
    counts = counts_of([one.pk for one in found])
    rows = [
        {
            "operation": one.pk,
            "kind": one.kind,
            "state": one.state,
            "scope": one.scope,
            "planned": counts[one.pk]["planned"],
            "done": counts[one.pk]["done"],
            "skipped": counts[one.pk]["skipped"],
            "created_by": one.created_by.get_username(),
            "created_at": one.created_at,
        }
        for one in found
    ]
    self.tell_rows("operations", rows, as_json=json, empty="There is no operation.")


def show(self: Any, number: Number, *, user: User = None, json: Json = False) -> None:
    """Show one operation: where its messages go, and how far it has come."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    found = find_operation(authorities.held_by(person), number)
    tell(self, person, found.pk, as_json=json)


def tell(command: Any, person: Principal, number: int, *, as_json: bool) -> None:
    """An operation as it is now."""
    state = read_state(person, number)
    told = adapter_of(OperationState).dump_python(state, mode="json")
    command.tell(told, printing.lines(str(state)), as_json=as_json)
