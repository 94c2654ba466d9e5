"""The properties of a message, grouped by who set them, masked for the user."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.conf import settings

from broker.bridges.carrier import PATH
from broker.formats.trace_context import trace_id
from console.edges.times import in_zone

# prefix of the properties that a bridge sets in dead messages
PREFIX = "JMS_SUN_JMSBRIDGE_"
BROKERS_OWN = ("_AMQ_", "_BRK_")  # prefixes of the properties that this broker sets
TIMES = ("_TIMESTAMP", "_EXPIRATION")  # suffixes of bridge properties that are times
Pairs = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Properties:
    """Names and values, ordered by name."""

    application: Pairs = field(default_factory=list)
    bridges: Pairs = field(default_factory=list)
    own: Pairs = field(default_factory=list)  # properties that the broker set

    @property
    def named(self) -> dict[str, str]:
        """All properties."""
        return dict(self.application + self.bridges + self.own)

    @property
    def in_words(self) -> Pairs:
        """Properties of bridges; timestamps are also shown as times."""
        return [(name, time_in_words(name, value)) for name, value in self.bridges]


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of a message."""

    id: str
    url: str  # its page in a tool for traces; empty if none is set


def trace_of(seen: Mapping[str, Any]) -> Trace | None:
    """The trace in the properties of a message; None if there is none, or it is
    masked."""
    found = trace_id(seen)
    url: str = settings.BACKOUT_TRACE_URL
    return Trace(found, url.replace("{trace_id}", found)) if found else None


def sorted_out(seen: Mapping[str, Any]) -> Properties:
    found = Properties()
    for name, value in sorted(seen.items()):
        text = (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        )
        if name.startswith(BROKERS_OWN):
            found.own.append((name, text))
        elif name.startswith(PREFIX) or name == PATH:
            found.bridges.append((name, text))
        else:
            found.application.append((name, text))
    return found


def searchable(seen: Mapping[str, Any], sent: Mapping[str, Any]) -> set[str]:
    """The names of properties whose values a filter finds: texts, whole numbers and
    truth values, of which nothing is masked."""
    return {
        name
        for name, value in seen.items()
        if isinstance(value, str | int) and value == sent.get(name)
    }


def time_in_words(name: str, value: str) -> str:
    at = moment_of(value) if name.endswith(TIMES) else None
    return f"{value} ({in_zone(at)})" if at else value


def moment_of(milliseconds: str) -> datetime | None:
    """A JMS timestamp as a moment; None if it is not one."""
    try:
        return datetime.fromtimestamp(int(milliseconds) / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
