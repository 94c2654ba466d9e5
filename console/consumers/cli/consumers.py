"""``backout consumer`` and ``task``: ConnectionConsumers, and the tasks they run."""

from __future__ import annotations

from typing import Any

import typer

from broker.security import authorities
from console.consumers import consumer_list
from console.edges.commands import actors, printing
from console.edges.commands.actors import NOTHING
from console.edges.commands.options import Json, User


def list_all(self: Any, *, user: User = None, json: Json = False) -> None:
    """List stopped queues with what to do, then ConnectionConsumers that run."""
    person = actors.acting(user)
    actors.require(person, "broker.view_queue")
    held = authorities.held_by(person)
    found = consumer_list.listed(held, has_permission=True)
    stopped = [
        {
            "queue": one.stoppage.queue.name,
            "stopped_at": one.stoppage.stopped_at,
            "message_id": one.stoppage.message_id,
            "why": one.stoppage.why,
            "remedy": one.remedy,
            "waiting": one.waiting,
        }
        for one in found.stopped
    ]
    running = [
        {
            "queue": one.consumer.queue.name,
            "handler": one.consumer.handler,
            "selector": one.consumer.selector,
            "server_sessions": one.consumer.server_sessions,
            "process": one.process,
            "started_at": one.consumer.started_at,
        }
        for one in found.running
    ]
    if json:
        printing.as_json(self.out, {"stopped": stopped, "running": running})
    elif not stopped and not running:
        self.stderr.write("No ConnectionConsumer runs, and no delivery is stopped.")
    else:
        for rows in filter(None, (stopped, running)):
            printing.as_table(self.out, rows)
    if not stopped and not running:
        raise typer.Exit(NOTHING)
