"""A transport of kombu: Celery sends its tasks and commands through this broker.

``backout://`` is the broker of the Django project's own database. A task is an ordinary
message, so ``delay`` inside ``transaction.atomic()`` sends it if and only if the
transaction commits. A worker holds its tasks as a process that holds an advisory lock:
if it dies, they are redelivered at once, without a visibility timeout.

``channel`` is the part that kombu calls; ``messages`` converts messages; ``queues`` and
``routing`` have queues and bindings; ``fetching`` and ``settling`` are the threads of a
connection that consumes; ``failures`` notes why a task failed.
"""

from __future__ import annotations

from broker.client.celery_transport.transport import Transport

__all__ = ["Transport"]
