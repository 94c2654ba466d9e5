"""``backout task``: tasks by name."""

from __future__ import annotations

from typing import Any

from console.edges.commands import actors
from console.edges.commands.options import Json, User
from console.messages import task_list


def list_tasks(self: Any, *, user: User = None, json: Json = False) -> None:
    """List tasks by name: how many wait, run, and failed."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    rows = [row.as_document() for row in task_list.rows_for(person)]
    if not json:
        for row in rows:
            row["queues"] = ", ".join(row["queues"])
            row["errors"] = "; ".join(one["pattern"] for one in row["errors"])
    self.tell_rows("tasks", rows, as_json=json, empty="There are no tasks.")
