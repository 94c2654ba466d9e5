"""Stack traces of handlers, as text that is stored: bounded, and without the values of
variables."""

from __future__ import annotations

import linecache
from collections import deque
from collections.abc import Iterator
from itertools import dropwhile
from pathlib import Path
from types import TracebackType

from broker.formats.error_fingerprint import readable
from broker.formats.exceptions import (
    cause_of,
    origin_of,
    qualname_of,
    text_of,
    traceback_of,
)

LONGEST = 8192  # most characters of a stack trace
FRAMES = 20  # innermost frames of each exception
LONGEST_LINE = 200  # most characters of a line of source
CHAIN = 5  # most exceptions: the last, and its causes
BROKER = str(Path(__file__).resolve().parents[1])
CAUSE = "\nThe above exception was the direct cause of the following exception:\n\n"
CONTEXT = "\nDuring handling of the above exception, another exception occurred:\n\n"


def stack_trace(error: BaseException) -> str:
    """The stack trace of an exception and of those that led to it, as Python writes it.

    The broker's own frames before the first of the application are left out. If it is
    too long, the beginning is cut off.
    """
    try:
        text = "".join(reversed(list(parts(error))))
    except Exception as trouble:  # noqa: BLE001  # of a foreign loader of source lines
        return f"{words(error)}(its stack trace cannot be read: {text_of(trouble)})"
    if len(text) > LONGEST:
        text = "…\n" + text[2 - LONGEST :].partition("\n")[2]
    return readable(text, LONGEST)


def parts(error: BaseException) -> Iterator[str]:
    """The text of each exception, the last first, and the sentences between them."""
    told: set[int] = set()
    one: BaseException | None = error
    joint = ""
    while one is not None and len(told) < CHAIN and id(one) not in told:
        yield joint
        yield of(one)
        told.add(id(one))
        joint = CAUSE if cause_of(one) is not None else CONTEXT
        one = origin_of(one)


def of(error: BaseException) -> str:
    """One exception: its frames, the innermost last, and its words."""
    frames = list(dropwhile(is_broker_s, walk(traceback_of(error))))
    last = deque(frames, maxlen=FRAMES)
    lines = [words(error)]
    if last:
        before = len(frames) - len(last)
        more = [f"  … {before:,} frames before\n"] if before else []
        lines = [
            "Traceback (most recent call last):\n",
            *more,
            *map(line, last),
            *lines,
        ]
    return "".join(lines)


def words(error: BaseException) -> str:
    """The class and the text of an exception."""
    return f"{qualname_of(error)}: {text_of(error)}\n"


def line(trace: TracebackType) -> str:
    """A frame in two lines. The module ``traceback`` also marks the expression in the
    source, for which it parses it: that takes longer than all the rest."""
    code, number = trace.tb_frame.f_code, trace.tb_lineno
    source = linecache.getline(code.co_filename, number, trace.tb_frame.f_globals)
    where = f'  File "{code.co_filename}", line {number}, in {code.co_qualname}\n'
    return f"{where}    {source.strip()[:LONGEST_LINE]}\n"


def walk(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def is_broker_s(trace: TracebackType) -> bool:
    return trace.tb_frame.f_code.co_filename.startswith(BROKER)
