"""A backend for Django's Tasks: each task is a message on a queue.

::

    TASKS = {"default": {"BACKEND": "broker.client.django_tasks.BackoutBackend"}}

``enqueue`` is a put, so it is part of the caller's transaction. Dispatchers run the
tasks. The state of a task is not stored: it is what the journal says of its message.
The id of a result is the broker's number of the message, which its copies know as that
of their first original.

Only ``TASKS`` imports this package: it needs Django 6, or the package ``django-tasks``.

Source:
    Django 6.0, "Django's Tasks framework" (DEP 14).
"""

from __future__ import annotations

from broker.client.django_tasks.backend import BackoutBackend
from broker.client.django_tasks.bulk import enqueue_many
from broker.client.django_tasks.periodic import repeat
from broker.client.django_tasks.retries import redelivery

__all__ = ["BackoutBackend", "enqueue_many", "redelivery", "repeat"]
