"""The arguments of a task, as a message of Django's Tasks or of Celery has them.

Source:
    Celery, "Message Protocol", version 2: the body is a list of the arguments, those by
    keyword, and how the task is linked to others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker.monitoring.tasks import PROPERTY

MOST_BYTES = 64 * 1024  # a longer body is not read for its arguments
MOST = 50  # arguments shown
LONGEST = 500  # characters of an argument


@dataclass(frozen=True, slots=True)
class Call:
    """A task and its arguments, as text."""

    task: str
    arguments: list[tuple[str, str]]  # a number from 1 or a keyword, and the value
    more: int = 0  # arguments that are not shown


def call_of(properties: Mapping[str, Any], body: bytes) -> Call | None:
    """The call that a message asks for; None if it is no task, or cannot be read.

    Args:
        properties: of the message, as the user may see them.
        body: likewise, and whole.
    """
    task = properties.get(PROPERTY)
    if not isinstance(task, str) or len(body) > MOST_BYTES:
        return None
    try:
        found = parts_of(json.loads(body))
    except (ValueError, RecursionError):
        return None
    if found is None:
        return None
    args, kwargs = found
    every = [(str(n), write_argument(value)) for n, value in enumerate(args, start=1)]
    every += [(name, write_argument(value)) for name, value in kwargs.items()]
    return Call(task, every[:MOST], max(len(every) - MOST, 0))


def parts_of(said: Any) -> tuple[list[Any], dict[str, Any]] | None:
    """The arguments by position and by keyword; None if there are none."""
    if isinstance(said, dict):
        args, kwargs = said.get("args"), said.get("kwargs")
    elif isinstance(said, list) and len(said) == 3:
        # a body of Celery: arguments, keywords, and options
        args, kwargs = said[:2]
    else:
        return None
    if isinstance(args, list) and isinstance(kwargs, dict):
        return args, kwargs
    return None


def write_argument(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
