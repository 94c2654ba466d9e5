"""Tasks that are enqueued again and again, as recurring messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import transaction

from broker.client.django_tasks.backend import BackoutBackend
from broker.client.django_tasks.framework import Task
from broker.client.django_tasks.messages import fields_of
from broker.models import RecurringMessage


@transaction.atomic
def repeat(  # noqa: PLR0913  # each is named where it is used
    task: Task,
    name: str,
    *,
    crontab: str = "",
    every_s: int | None = None,
    time_zone: str = "UTC",
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> RecurringMessage:
    """Enqueue a task again and again::

        repeat(send_digest, "digest", crontab="0 6 * * 1-5", time_zone="Europe/Berlin")

    Call it where it is called once for a deployment, such as in a migration. A further
    call with the same name and other arguments changes the recurring message; with the
    same arguments it changes nothing, so the next time stays.

    Args:
        task: the task; its queue and its priority apply, its ``run_after`` does not.
        name: name of the recurring message, by which the console lists it.
        crontab: minute, hour, day of the month, month and day of the week.
        every_s: the interval in seconds, in place of a crontab line.
        time_zone: the time zone of the crontab line.
        args: positional arguments of the task; JSON.
        kwargs: keyword arguments of the task; JSON.

    Raises:
        ValidationError: there is not exactly one rule, or it cannot be parsed.
        TypeError: an argument is not JSON.
        ImproperlyConfigured: the task's backend is not this one.
    """
    said = fields_of(replace(task, run_after=None), args, dict(kwargs or {}))
    backend = task.get_backend()
    if not isinstance(backend, BackoutBackend):
        raise ImproperlyConfigured(
            f"The task backend {task.backend!r} is not BackoutBackend, so a recurring"
            " message cannot enqueue its tasks. Use a task of a backend that is."
        )
    fields = {
        "address": backend.prefix + task.queue_name,
        "body": said["body"].decode(),
        "content_type": said["content_type"],
        "subject": said["subject"],
        "properties": said["properties"],
        "priority": said["priority"],
        "crontab": crontab,
        "time_zone": time_zone,
        "every_s": every_s,
    }
    found = RecurringMessage.objects.select_for_update().filter(name=name).first()
    one = found or RecurringMessage(name=name)
    if found is None or any(getattr(one, key) != fields[key] for key in fields):
        for key, value in fields.items():
            setattr(one, key, value)
        one.full_clean()
        one.save()
    return one
