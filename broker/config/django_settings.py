"""How the settings of the broker get their values.

The first of these counts: the environment variable of the name (only if it begins with
``BACKOUT_``, ``BRIDGE_`` or ``BROKER_``), the project's ``BACKOUT = {name: value}``,
the project's Django setting of the name, and the default in ``defaults``. ``complete``
writes the result into ``django.conf.settings`` when Django loads the broker's
``AppConfig``, so that all code reads ``settings.BROKER_…``, and tests override that.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

from django.core.exceptions import ImproperlyConfigured

from broker.config import defaults

TYPES: Mapping[str, Any] = get_type_hints(defaults)
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


def complete(settings: Any, environment: Mapping[str, str]) -> None:
    """Give each setting of the broker its value.

    Args:
        settings: Django's settings; changed in place.
        environment: variables of the process.

    Raises:
        ImproperlyConfigured: a name is unknown, or a value has the wrong type.
    """
    said = {**of_project(settings), **from_environment(environment)}
    for name, value in said.items():
        setattr(settings, name, value)
    for name in TYPES:
        if not hasattr(settings, name) and name not in FOLLOWING:
            setattr(settings, name, getattr(defaults, name))
    for name, default in FOLLOWING.items():
        if not hasattr(settings, name):
            setattr(settings, name, default(settings))


def of_project(settings: Any) -> dict[str, Any]:
    """The values of ``BACKOUT``."""
    said: dict[str, Any] = getattr(settings, "BACKOUT", {})
    for name, value in said.items():
        if name not in TYPES:
            near = difflib.get_close_matches(name, TYPES, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise ImproperlyConfigured(f"BACKOUT has no setting {name}.{hint}")
        if not isinstance(value, accepted(name)):
            raise ImproperlyConfigured(f"{wanted(name)} BACKOUT has {value!r}.")
    return said


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The values of environment variables; a list has commas between its items."""
    return {
        name: parse(name, environment[name])
        for name in TYPES
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
        sentence = f"{wanted(name)} The environment has {text!r}."
        raise ImproperlyConfigured(sentence) from None


def accepted(name: str) -> tuple[type, ...]:
    """The classes of a setting's values."""
    kind = TYPES[name]
    if kind is float:
        return (float, int)
    if kind == list[str]:
        return (list, tuple)
    return get_args(kind) or (kind,)


def wanted(name: str) -> str:
    kind = TYPES[name]
    return f"{name} must be of type {getattr(kind, '__name__', kind)}."
