"""Log lines as JSON, with the ids of what they are about.

The code logs by ``logging``. Whoever begins a piece of work binds its ids; each line
that is logged during the work, by any package, has them.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from broker.formats.stack_trace import stack_trace

Id = int | str | None

IDS: ContextVar[Mapping[str, Id]] = ContextVar("ids_of_log_lines")
NONE: Mapping[str, Id] = {}


@contextmanager
def bound(**ids: Id) -> Iterator[None]:
    """Log lines within the block have these ids, and the ids of the enclosing block."""
    token = IDS.set({**IDS.get(NONE), **ids})
    try:
        yield
    finally:
        IDS.reset(token)


def bind(**ids: Id) -> None:
    """Log lines have these ids, too, until the enclosing ``bound``, task or thread
    ends."""
    IDS.set({**IDS.get(NONE), **ids})


def begin(**ids: Id) -> None:
    """Log lines have only these ids, until this thread or task begins other work."""
    IDS.set(ids)


def ids() -> dict[str, Id]:
    """The bound ids, for the ``extra`` of a log record that other tools read."""
    return {name: one for name, one in IDS.get(NONE).items() if one is not None}


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ``time`` (UTC), ``level``, ``logger``, ``event`` (the
    text), ``process``, the bound ids, and ``exception`` with its stack trace."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, object] = {
            "time": moment.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
            "process": os.getpid(),
        }
        line |= ids()
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack"] = self.formatStack(record.stack_info)
        return json.dumps(line, ensure_ascii=False, default=str)

    def formatException(self, ei: Any) -> str:  # noqa: N802  # as logging calls it
        """As usual; the line is not lost if the exception fails when it is looked
        at."""
        try:
            return super().formatException(ei)
        except BaseException:  # noqa: BLE001  # of foreign code
            return stack_trace(ei[1])
