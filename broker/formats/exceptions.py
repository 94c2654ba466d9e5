"""What an exception says of itself, asked so that nothing fails.

The class and the text of an exception are foreign code: ``__str__`` may raise anything,
names need not be text, attributes may be properties that raise, and an exception may be
its own cause. How a unit of work ends must not depend on that. So names and causes are
read from where Python keeps them, and the text is asked for once.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from broker.formats.error_fingerprint import readable

UNREADABLE = "(its text cannot be read)"
# A class of users can override these attributes with anything, so the descriptors of
# Python's own classes read them.
NAME, QUALNAME, MODULE = (
    type.__dict__[one] for one in ("__name__", "__qualname__", "__module__")
)
CAUSE, CONTEXT, HIDES_CONTEXT, TRACEBACK = (
    BaseException.__dict__[one]
    for one in ("__cause__", "__context__", "__suppress_context__", "__traceback__")
)


def plain_text_of(value: object) -> str:
    """The text of an exception or another foreign object."""
    try:
        # ``str(value)`` can be of a foreign subclass of str.
        return str.__str__(str(value))
    except BaseException:  # noqa: BLE001  # whatever it raises, be it SystemExit
        return UNREADABLE


def text_of(value: object) -> str:
    """The text of an exception or another object, so that it can be stored; see
    ``readable``."""
    return readable(plain_text_of(value).strip())


def name_of(error: BaseException) -> str:
    """The name of an exception's class."""
    return readable(str.__str__(NAME.__get__(type(error))))


def qualname_of(error: BaseException) -> str:
    return readable(str.__str__(QUALNAME.__get__(type(error))))


def path_of(error: BaseException) -> str:
    """The dotted path of an exception's class."""
    try:
        module = MODULE.__get__(type(error))
    except AttributeError:  # the attribute was deleted
        module = None
    name = qualname_of(error)
    return readable(f"{module}.{name}") if type(module) is str else name


def described(error: BaseException) -> str:
    """An exception in one line, for operators: its class and its text."""
    text = text_of(error)
    return f"{name_of(error)}: {text}" if text else name_of(error)


def is_a(
    error: BaseException, kinds: type[BaseException] | tuple[type[BaseException], ...]
) -> bool:
    """Whether an exception is of these classes, by its real type; ``isinstance`` also
    trusts the exception's own ``__class__``."""
    return issubclass(type(error), kinds)


def concerns_program(error: BaseException) -> bool:
    """Whether an exception is no failure of the foreign code in which it was raised,
    but ends the program: in the main thread, what is no ``Exception``. ``SystemExit``
    ends the foreign code that raised it."""
    is_main = threading.current_thread() is threading.main_thread()
    return is_main and not is_a(error, (Exception, SystemExit))


def cause_of(error: BaseException) -> BaseException | None:
    """The exception from which this one was raised."""
    cause: BaseException | None = CAUSE.__get__(error)
    return cause


def context_of(error: BaseException) -> BaseException | None:
    """The exception that was being handled when this one was raised."""
    context: BaseException | None = CONTEXT.__get__(error)
    return context


def origin_of(error: BaseException) -> BaseException | None:
    """The exception that led to this one, as tracebacks show it: its cause, or else
    what was being handled when it was raised."""
    cause = cause_of(error)
    is_hidden = cause is not None or HIDES_CONTEXT.__get__(error)
    return cause if is_hidden else context_of(error)


def traceback_of(error: BaseException) -> TracebackType | None:
    trace: Any = TRACEBACK.__get__(error)
    return trace if type(trace) is TracebackType else None
