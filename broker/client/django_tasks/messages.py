"""Tasks as messages.

The subject (``JMSType``) says that a message is a task; its property ``task`` is the
path of the function, and its body has the arguments as JSON: ``{"args": [1], "kwargs":
{"to": "a@b.c"}}``. An operator can read them, and mend them in a dead letter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from sys import modules
from typing import Any

from django.apps import apps
from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string

from broker.client.django_tasks.framework import InvalidTask, Task, normalize_json
from broker.errors.tasks import NoTask, NotJson
from broker.formats import moments, strict_json

SUBJECT = "django-task"
JSON = "application/json"
DEFAULT_PRIORITY = 4  # JMS's default, for tasks with the priority 0
# How many priorities of tasks make one priority of a message, below and above 0.
LEVELS_BELOW, LEVELS_ABOVE = 25, 20


@dataclass(frozen=True, slots=True)
class Call:
    """A task with its arguments."""

    task: Task
    args: list[Any]
    kwargs: dict[str, Any]


def level(priority: int) -> int:
    """The priority of a message, 0 to 9, for that of a task, -100 to 100.

    A higher one of a task is never lower as a message: 0 is 4, as JMS has it, 1 to 100
    are 5 to 9, and -1 to -100 are 3 to 0.
    """
    if priority > 0:
        return DEFAULT_PRIORITY + 1 + (priority - 1) // LEVELS_ABOVE
    return DEFAULT_PRIORITY + priority // LEVELS_BELOW


def fields_of(task: Task, args: Sequence[Any], kwargs: Any) -> dict[str, Any]:
    """The fields of ``NewMessage`` of a call, without its address.

    Raises:
        TypeError, NotJson: an argument is not JSON.
    """
    properties: dict[str, Any] = {"task": task.module_path}
    if task.priority:
        properties["priority"] = task.priority
    if task.backend != "default":
        properties["backend"] = task.backend
    due = task.run_after
    if due is not None:
        due = moments.by_clock(due, timezone.get_default_timezone())
        properties["run_after"] = due.isoformat()
    called = {"args": normalize_json(args), "kwargs": normalize_json(kwargs)}
    return {
        "body": as_json("The arguments of the task", called).encode(),
        "content_type": JSON,
        "subject": SUBJECT,
        "properties": properties,
        "priority": level(task.priority),
        "deliver_at": due,
    }


def as_json(what: str, value: Any) -> str:
    """A value as JSON.

    Args:
        what: for the sentence of the error.
        value: the value.

    Raises:
        NotJson: it has NaN, Infinity, or what is no text.
    """
    try:
        return strict_json.dumps(value, ascii_only=False)
    except ValueError as error:
        raise NotJson(what, str(error)) from None


def call_of(
    properties: Mapping[str, Any], body: bytes | memoryview, *, queue: str, alias: str
) -> Call:
    """The task of a message, and its arguments.

    Raises:
        NoTask: it names no task of an installed application, or has no arguments.
    """
    try:
        found = task_at(str(properties.get("task", "")))
        due = properties.get("run_after")
        as_sent: dict[str, Any] = {
            "priority": int(properties.get("priority", 0)),
            "queue_name": queue,
            "run_after": run_after(str(due)) if due else None,
            "backend": alias,
        }
        other = {
            name: value
            for name, value in as_sent.items()
            if getattr(found, name) != value
        }
        task = found.using(**other) if other else found
        called = json.loads(bytes(body))
        args, kwargs = list(called["args"]), dict(called["kwargs"])
    except (InvalidTask, KeyError, TypeError, ValueError, RecursionError) as error:
        raise NoTask(f"{type(error).__name__}: {error}") from error
    return Call(task, args, kwargs)


def run_after(text: str) -> datetime:
    """The time before which a task was not to run, as the project writes its times."""
    due = moments.parse(text)
    return due if settings.USE_TZ else timezone.make_naive(due)


def task_at(path: str) -> Task:
    """The task at a path that a message names.

    Only modules of installed applications are imported, and those that are already.

    Raises:
        NoTask: there is none.
    """
    module, _, _ = path.rpartition(".")
    if module not in modules and apps.get_containing_app_config(path) is None:
        raise NoTask(f"{path!r} is in no installed application")
    try:
        found = import_string(path)
    except ImportError as error:
        raise NoTask(str(error)) from error
    if not isinstance(found, Task):
        raise NoTask(f"{path!r} is no task")
    return found
