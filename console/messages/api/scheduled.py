"""Delayed messages, recurring messages and tasks over REST."""

from __future__ import annotations

from ninja import Router

from broker.acts.recurring import put_recurring_message
from console.edges.rest.acts import serve
from console.edges.rest.queries import serve_query
from console.messages.queries.scheduled import list_recurring, list_scheduled
from console.messages.queries.tasks import list_tasks

router = Router(tags=["scheduled"])
serve_query(router, "/scheduled", list_scheduled)
serve_query(router, "/recurring-messages", list_recurring)
serve(
    router, "POST", "/recurring-messages/{queue:recurring}/put", put_recurring_message
)

tasks = Router(tags=["tasks"])
serve_query(tasks, "/tasks", list_tasks)
