"""An operation as it is now, for commands."""

from __future__ import annotations

from typing import Any

from broker.acts.operations.states import OperationState, read_state
from broker.security.authorities import Principal
from console.edges.answers import adapter_of
from console.edges.commands import printing


def tell(command: Any, person: Principal, number: int, *, as_json: bool) -> None:
    state = read_state(person, number)
    told = adapter_of(OperationState).dump_python(state, mode="json")
    command.tell(told, printing.lines(str(state)), as_json=as_json)
