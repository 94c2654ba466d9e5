"""Plug-in point: functions that change messages in a link.

An installed application registers its transformers in its module ``transformers``;
further modules are named in the setting ``BACKOUT_TRANSFORMERS``. A transformer gets a
copy of the message and returns the message to send, or raises an exception. It may run
again for the same message, in another process.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Self

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import autodiscover_modules

from broker.bridges.providers.interface import Destination
from broker.errors.bridges import NoSuchTransformer
from broker.models import Link
from broker.queueing.store import NewMessage

# Transformers of this broker: modules beside this one.
OURS = ("json_patch", "headers", "route")


@dataclass(frozen=True, slots=True)
class Context:
    """The link for which a message is transformed."""

    properties: Mapping[str, str]  # properties of the link's target
    source_provider: str
    target_provider: str
    bridge: str
    link: str

    @classmethod
    def of(cls, link: Link, properties: Mapping[str, str]) -> Self:
        """The context of a link, with the properties of its target."""
        return cls(
            properties=properties,
            source_provider=link.source_factory.name,
            target_provider=link.target_factory.name,
            bridge=link.bridge.name,
            link=link.name,
        )


@dataclass(frozen=True, slots=True)
class NoTransfer:
    """Result: consume the message, and do not send it."""


@dataclass(frozen=True, slots=True)
class BranchTo:
    """Result: send a message to another destination at the target."""

    destination: Destination
    message: NewMessage


Outcome = NewMessage | NoTransfer | BranchTo
Transform = Callable[[NewMessage, Context], Outcome]
Check = Callable[[Mapping[str, str]], None]


def anything(_properties: Mapping[str, str]) -> None:
    """The default check, which accepts all properties."""


@dataclass(frozen=True, slots=True)
class Transformer:
    """A registered function, with the name that targets of links use."""

    name: str
    transform: Transform
    check: Check
    label: str  # name shown to people

    @property
    def description(self) -> str:
        return inspect.getdoc(self.transform) or ""


TRANSFORMERS: dict[str, Transformer] = {}


def transforms(
    name: str, *, check: Check = anything, label: str = ""
) -> Callable[[Transform], Transform]:
    """Register a function under a unique name.

    Args:
        name: the name that targets of links use.
        check: raises ValueError, with a sentence, if the target's properties are
            invalid. It is called when a link is saved, and again when it starts.
        label: for people; by default the first line of the function's docstring.

    Raises:
        ImproperlyConfigured: the name is taken or empty, or the function is async.
    """

    def register(transform: Transform) -> Transform:
        if not name.strip():
            raise ImproperlyConfigured("A transformer needs a name.")
        other = TRANSFORMERS.get(name)
        if other is not None and place_of(other.transform) != place_of(transform):
            raise ImproperlyConfigured(f"There is a transformer {name!r} already.")
        if inspect.iscoroutinefunction(transform):
            raise ImproperlyConfigured(
                f"The transformer {name!r} is async, but transformers are called"
                " without await."
                " Write it with def."
            )
        first = (inspect.getdoc(transform) or name).partition("\n")[0].rstrip(".")
        TRANSFORMERS[name] = Transformer(name, transform, check, label or first)
        return transform

    return register


def place_of(transform: Transform) -> tuple[str, str]:
    """Module and name of a function. A module whose import failed is imported again."""
    return transform.__module__, getattr(transform, "__qualname__", "")


def discover() -> Mapping[str, Transformer]:
    """All transformers by name, after their modules were imported."""
    for module in OURS:
        import_module(f"broker.bridges.transformers.{module}")
    autodiscover_modules("transformers")
    for path in settings.BACKOUT_TRANSFORMERS:
        import_module(path)
    return TRANSFORMERS


def transformer(name: str) -> Transformer:
    """The transformer of this name.

    Raises:
        NoSuchTransformer: there is none of this name.
    """
    found = TRANSFORMERS.get(name) or discover().get(name)
    if found is None:
        raise NoSuchTransformer(name, sorted(TRANSFORMERS))
    return found


def check(name: str, properties: Mapping[str, str]) -> None:
    """Check a transformer and the properties of a link's target.

    Raises:
        NoSuchTransformer: there is none of this name.
        ValueError: the properties are invalid; with a sentence.
    """
    transformer(name).check(properties)
