"""Bodies of tasks: what JSON does not have is refused, before anything is put."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from kombu.compression import decompress
from kombu.exceptions import EncodeError

from broker.errors.tasks import NotJson
from broker.formats.strict_json import infinite

NO_JSON = (b"NaN", b"Infinity")
ARGUMENTS = "The arguments of the task"


class ArgumentsNotJson(NotJson, EncodeError):  # type: ignore[misc]  # kombu has no types
    """The arguments of a task are no JSON; nothing was put. Celery takes it as it takes
    arguments that it cannot write, such as a set."""


def check(body: bytes, message: Mapping[str, Any]) -> None:
    """Refuse a task with NaN or Infinity in its JSON, which Python alone writes and
    reads. Other messages are no business of ours: a result is to reach who waits.

    Args:
        body: of the message.
        message: as ``Channel.prepare_message`` made it.

    Raises:
        ArgumentsNotJson: the text says what of the arguments it is.
    """
    headers = message["headers"]
    if "json" not in (message["content-type"] or ""):
        return
    if compression := headers.get("compression"):
        body = decompress(body, compression)
    # Most bodies have neither NaN nor Infinity, and need no parsing.
    if not any(one in body for one in NO_JSON):
        return
    try:
        called = json.loads(body)
    except ValueError:  # the content type is JSON, the body is not
        return
    if "task" not in headers and not is_task_of_old(called):
        return
    for why in infinite(named(called), ""):
        raise ArgumentsNotJson(what=ARGUMENTS, why=why)


def is_task_of_old(called: Any) -> bool:
    """Whether a body is a task by the first version of Celery's protocol."""
    return isinstance(called, dict) and "task" in called


def named(called: Any) -> Any:
    """A body of a task with the names of its parts.

    Source:
        Celery, "Message Protocol": the body of version 2 is a list of three.
    """
    match called:
        case [args, kwargs, dict(embed)]:
            return {"args": args, "kwargs": kwargs, **embed}
    return called
