"""Exceptions that fail themselves when somebody looks at them, and other odd ones."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn


def refuse(*_: object) -> NoReturn:
    raise RuntimeError("not for you")


def leave(*_: object) -> NoReturn:
    raise SystemExit(3)


def interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


class Nameless(type):
    """The type of a class that will not say its name."""

    @property
    def __name__(cls) -> str:  # type: ignore[override]
        return refuse()

    @property
    def __module__(cls) -> str:  # type: ignore[override]
        return refuse()


class Text(str):
    """Text that will not be looked at."""

    __slots__ = ()
    strip = encode = replace = __getitem__ = __len__ = __format__ = refuse  # type: ignore[assignment]


def made(name: str, *bases: type, **of: Any) -> type[BaseException]:
    """A class of this module, so that it can be carried to another process."""
    kind = type(name, bases or (Exception,), of | {"__module__": __name__})
    globals()[name] = kind
    return kind


KINDS = [
    made("NoText", __str__=refuse),
    made("NoTextAtAll", __str__=refuse, __repr__=refuse),
    made("TextIsNone", __str__=lambda _: None),
    made("TextIsOdd", __str__=lambda _: Text("odd")),
    made("TextLeaves", __str__=leave, __repr__=leave),
    made("TextInterrupts", __str__=interrupt),
    made("TextIsLong", __str__=lambda _: "é" * 5_000_000),
    made("TextHasNul", __str__=lambda _: "\0 and \ud800"),
    made("ClassLies", __class__=property(refuse)),
    made("NotesAreNone", __notes__=7),
    made("NotesRefuse", __notes__=property(refuse)),
    made("CauseRefuses", __cause__=property(refuse), __context__=property(refuse)),
    made("TraceRefuses", __traceback__=property(refuse)),
    made("NothingIsThere", __getattr__=refuse),
    made("NotEvenTrue", __bool__=refuse, __len__=refuse),
    made("NotEqual", __eq__=refuse, __hash__=refuse),
    made("NotPickled", __reduce_ex__=refuse),
    made("Leaves", SystemExit),
    made("Generates", GeneratorExit),
]


class ModuleLies(Exception):
    __module__ = 7  # type: ignore[assignment]


class ClassIsNameless(Exception, metaclass=Nameless):
    pass


def of(kind: type[BaseException]) -> Callable[[], BaseException]:
    return lambda: kind("there", 17)


def its_own_cause() -> BaseException:
    one, other = ValueError("one"), KeyError("other")
    one.__cause__, other.__context__ = other, one
    return one


def group() -> BaseException:
    return ExceptionGroup("three", [of(kind)() for kind in KINDS[:3]])  # type: ignore[type-var]


def with_a_lock() -> BaseException:
    return ValueError(threading.Lock())


MAKERS: dict[str, Callable[[], BaseException]] = {
    **{type.__dict__["__name__"].__get__(kind): of(kind) for kind in KINDS},
    "ModuleLies": of(ModuleLies),
    "ClassIsNameless": of(ClassIsNameless),
    "ValueError": its_own_cause,
    "ExceptionGroup": group,
    "ValueError: <unlocked": with_a_lock,
}
