"""Makes messages that are tasks, for ``filled``."""

from __future__ import annotations

from typing import Any

from broker.queueing.put import put
from tests.make import make_queue

TASK = {"task": "shop.tasks.send_invoice"}
CALLS = (  # of Django's Tasks, and of Celery
    b'{"args": [17], "kwargs": {"to": "a@example.com", "copies": 2}}',
    b'[[17, {"to": "a@example.com"}], {}, {"callbacks": null, "chain": null}]',
)


def make_tasks() -> list[int]:
    make_queue("invoices")
    described: dict[str, Any] = {"content_type": "application/json", "properties": TASK}
    return [put("invoices", body, **described).message_id for body in CALLS]
