"""Errors as sentences: each is made of its facts, and states them as they are."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pkgutil import iter_modules
from string import Formatter
from typing import Any

import pytest

from broker import errors
from broker.errors import BrokerError, StatedError
from broker.errors.alerts import AlertError
from broker.errors.bridges import BridgeError, ProviderError
from broker.errors.mq_codes import GetOptions
from broker.errors.rules import RuleFault
from dashboards.reports.errors import ReportError
from dashboards.spark.errors import ConfUnreadable, ConnectClientMissing

HOSTILE = "{queue!r} {0.__class__} %s {"
FACTS: dict[str, Any] = {  # by annotation
    "str": HOSTILE,
    "int": -1_234_567,
    "int | None": 7,
    "bool": True,
    "list[str]": [HOSTILE],
    "Sequence[str]": [HOSTILE],
    "Sequence[RuleFault]": [RuleFault(1, 2, HOSTILE)],
    "datetime": datetime(2026, 5, 14, 2, tzinfo=UTC),
    "timedelta": timedelta(seconds=5),
    "Any": HOSTILE,
    "GetOptions": GetOptions(0),
    "Hold | None": None,
    "tuple[tuple[str, str], ...]": (("reason", "It is long."),),
}
FAMILIES = {BrokerError, BridgeError, ProviderError, AlertError, ReportError}


def below(kind: type[StatedError]) -> Iterator[type[StatedError]]:
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


def kinds() -> list[type[StatedError]]:
    for module in iter_modules(errors.__path__, "broker.errors."):
        import_module(module.name)
    assert {ConfUnreadable, ConnectClientMissing} <= set(below(StatedError))
    places = ("broker.errors", "dashboards.")
    return sorted(
        {one for one in below(StatedError) if one.__module__.startswith(places)}
        - FAMILIES,
        key=lambda one: (one.__module__, one.__name__),
    )


def made(kind: type[StatedError]) -> StatedError:
    wanted = inspect.signature(kind).parameters.values()
    return kind(**{one.name: FACTS[str(one.annotation)] for one in wanted})


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_an_error_states_its_facts_as_they_are(kind: type[StatedError]) -> None:
    error = made(kind)
    fields = set(inspect.signature(kind).parameters)
    is_filled = kind.__str__ is StatedError.__str__
    parts = Formatter().parse(kind.sentence if is_filled else "")
    named = [one for one in parts if one[1] is not None]

    assert str(error).strip()
    assert {str(name) for _, name, _, _ in named} <= fields
    for _, name, spec, conversion in named:
        value = getattr(error, str(name))
        said = repr(value) if conversion == "r" else value
        assert format(said, spec or "") in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
