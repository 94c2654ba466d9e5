"""How the settings of an application get their values: the broker's, the console's.

The first of these counts: the environment variable of the name (only if it begins with
``BACKOUT_``, ``BRIDGE_`` or ``BROKER_``), the project's ``BACKOUT = {name: value}``,
the project's Django setting of the name, and the default in ``defaults``. ``complete``
writes the result into ``django.conf.settings`` when Django loads the application's
``AppConfig``, so that all code reads ``settings.BROKER_…``, and tests override that.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import Any, get_args, get_type_hints

from django.core.exceptions import ImproperlyConfigured

from broker.config import defaults

TYPES: Mapping[str, Any] = get_type_hints(defaults)
# Types of the broker's settings, and of the settings of other applications, which are
# added when these are loaded.
KNOWN = dict(TYPES)
PREFIXES = ("BACKOUT_", "BRIDGE_", "BROKER_")
TRUE = frozenset({"1", "on", "true", "y", "yes", "ok"})
# Defaults that depend on other settings.
FOLLOWING: Mapping[str, Callable[[Any], object]] = {
    "BROKER_AMQP_PORT_IS_FIXED": lambda given: hasattr(given, "BROKER_AMQP_PORT"),
    "BROKER_AMQP_PORT": lambda _: 5672,
    "BROKER_AMQP_MAX_PARTIAL_BYTES": lambda given: (
        given.BROKER_MAX_MESSAGE_BYTES + 2**20
    ),
    "BROKER_AMQP_MAX_TRANSACTION_MESSAGES": lambda given: (
        given.BROKER_MAX_UNCOMMITTED_MESSAGES
    ),
    "BROKER_AMQP_MAX_TRANSACTION_BYTES": lambda given: (
        given.BROKER_MAX_UNCOMMITTED_BYTES
    ),
    "BROKER_AMQP_MAX_TRANSACTION_AGE_S": lambda given: float(
        given.BROKER_TRANSACTION_TIMEOUT_S
    ),
}


def complete(
    settings: Any,
    environment: Mapping[str, str],
    table: ModuleType = defaults,
    following: Mapping[str, Callable[[Any], object]] = FOLLOWING,
) -> None:
    """Give each setting of a table its value.

    Args:
        settings: Django's settings; changed in place.
        environment: variables of the process.
        table: a module as ``defaults``.
        following: functions for those of its settings that depend on others.

    Raises:
        ImproperlyConfigured: a value has the wrong type.
    """
    names = get_type_hints(table)
    KNOWN.update(names)
    said = {**of_project(settings, names), **from_environment(environment, names)}
    for name, value in said.items():
        setattr(settings, name, value)
    for name in names:
        if not hasattr(settings, name) and name not in following:
            setattr(settings, name, getattr(table, name))
    for name, default in following.items():
        if not hasattr(settings, name):
            setattr(settings, name, default(settings))


def refuse_unknown(settings: Any) -> None:
    """Refuse a name in ``BACKOUT`` that no application has; all are loaded by now.

    Raises:
        ImproperlyConfigured: there is one.
    """
    for name in getattr(settings, "BACKOUT", {}):
        if name not in KNOWN:
            near = difflib.get_close_matches(name, KNOWN, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ImproperlyConfigured(f"BACKOUT has no setting {name}.{hint}")


def of_project(settings: Any, names: Collection[str]) -> dict[str, Any]:
    """The values of ``BACKOUT`` for these names."""
    said: dict[str, Any] = getattr(settings, "BACKOUT", {})
    found = {name: value for name, value in said.items() if name in names}
    for name, value in found.items():
        if not isinstance(value, accepted(name)):
            raise ImproperlyConfigured(f"{describe_type(name)} BACKOUT has {value!r}.")
    return found


def from_environment(
    environment: Mapping[str, str], names: Collection[str]
) -> dict[str, Any]:
    """The values of environment variables; a list has commas between its items."""
    return {
        name: parse(name, environment[name])
        for name in names
        if name.startswith(PREFIXES) and name in environment
    }


def parse(name: str, text: str) -> Any:
    kinds = accepted(name)
    if bool in kinds:
        return text.strip().lower() in TRUE
    if list in kinds:
        return [one.strip() for one in text.split(",") if one.strip()]
    try:
        return kinds[0](text)
    except ValueError:
        sentence = f"{describe_type(name)} The environment has {text!r}."
        raise ImproperlyConfigured(sentence) from None


def accepted(name: str) -> tuple[type, ...]:
    """The classes of a setting's values."""
    kind = KNOWN[name]
    if kind is float:
        return (float, int)
    if kind == list[str]:
        return (list, tuple)
    return get_args(kind) or (kind,)


def describe_type(name: str) -> str:
    kind = KNOWN[name]
    return f"{name} must be of type {getattr(kind, '__name__', kind)}."
