"""What could stand at the end of a filter that somebody types: keys, then values.

Values are those of the newest messages that meet the terms before, on the queues that
this person may see. It is an aid: what is not offered can be asked for all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from broker.errors.messages import InvalidFilter, SearchTooLong
from broker.errors.redaction import MaskedSearch
from broker.formats.filters import KEYS, PROPERTY, Key, KeyKind
from broker.formats.filters.keys import ALIASES
from broker.formats.filters.values import quoted
from broker.monitoring import search as finding
from broker.monitoring.search.tallies import NEWEST
from broker.security import redaction
from console.messages import search_form

MOST = 20  # values
LAST = re.compile(r"(?P<before>(?:.*[ \t])?-?)(?P<term>[^ \t]*)", re.S)
OF_NEWEST = f"Values of the newest {NEWEST:,} messages that match the rest."
EXAMPLES: dict[KeyKind, tuple[str, ...]] = {
    KeyKind.NUMBER: ("0", ">0", ">=3", "1..5"),
    KeyKind.SIZE: (">10kB", ">1MiB", "<500"),
    KeyKind.SPAN: ("<15m", ">1h", ">1d", "1h..2h"),
}


@dataclass(frozen=True, slots=True)
class Option:
    """A whole text that could stand in the field, and what its end means."""

    value: str
    says: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What is offered, and where it comes from."""

    options: list[Option]
    said: str = ""


@dataclass(frozen=True, slots=True)
class Typed:
    """A text as far as it has come: what stands before its last value, and of that the
    beginning."""

    before: str
    key: Key
    name: str | None  # of the property; none: that is what is typed
    begun: str
    ends: str = ""  # what follows it

    def offer(self, values: Iterable[str], says: str = "") -> list[Option]:
        begun = self.begun.strip('"').lower()
        alike = [one for one in values if begun in one.lower()]
        alike.sort(key=lambda one: not one.strip('"').lower().startswith(begun))
        return [Option(f"{self.before}{one}{self.ends}", says) for one in alike[:MOST]]


def complete(user: User | AnonymousUser, texts: Sequence[str], text: str) -> Told:
    """What could stand at the end of a text.

    Args:
        user: who types.
        texts: filters that have to be met, too.
        text: as far as it has come.
    """
    if text.count('"') % 2:
        return Told([])  # within quotes
    found = LAST.fullmatch(text)
    assert found, "it matches any text"
    before, term = found["before"], found["term"]
    asked = CompletionScope(user, [*texts, before.rstrip("- \t")])
    try:
        return asked.told(before, term)
    except (
        InvalidFilter,
        MaskedSearch,
        PermissionDenied,
        SearchTooLong,
    ) as error:
        return Told([], str(error))


@dataclass(frozen=True, slots=True)
class CompletionScope:
    """Who asks, and what messages have to be."""

    user: User | AnonymousUser
    texts: Sequence[str]

    def told(self, before: str, term: str) -> Told:
        name, colon, value = term.partition(":")
        is_property = name.lower().startswith("h.")
        if not colon and not is_property:
            return Told(keys_like(before, name))
        if not colon:
            typed = Typed(f"{before}h.", PROPERTY, None, name[2:], ends=":")
            return self.values_of_messages(typed)
        key = PROPERTY if is_property else key_of(name)
        if key is None:
            return Told([])
        earlier, comma, begun = value.rpartition(",")
        property_ = name[2:].strip('"') if is_property else None
        typed = Typed(f"{before}{name}:{earlier}{comma}", key, property_, begun)
        return self.values(typed)

    def values(self, typed: Typed) -> Told:
        """Values of a key: all that there can be, those of messages, or examples."""
        match typed.key.kind:
            case KeyKind.CHOICE:
                return Told(typed.offer(typed.key.choices))
            case KeyKind.TEXT | KeyKind.PROPERTY:
                return self.values_of_messages(typed)
            case KeyKind.MOMENT:
                return Told(typed.offer(moments(timezone.now()), "in UTC"))
        return Told(typed.offer(EXAMPLES.get(typed.key.kind, ()), "for example"))

    def values_of_messages(self, typed: Typed) -> Told:
        """What the newest have; or the names of their properties."""
        of_payloads = typed.key == PROPERTY
        if of_payloads and typed.name is not None:
            asked = f"h.{typed.name}"
            redaction.sight_of(self.user).require_search(asked, typed.name)
        search = search_form.search(self.user, self.texts, for_payloads=of_payloads)
        if typed.key.name == "queue":
            return Told(typed.offer(map(quoted, sorted(search.within.values()))))
        tally = finding.values(
            search.filter, typed.key, typed.name, within=search.within
        )
        known = [one for one, _ in tally.most_common() if one.isprintable()]
        return Told(typed.offer(map(quoted, known)), OF_NEWEST)


def keys_like(before: str = "", begun: str = "") -> list[Option]:
    """Keys that have these letters; all of them, where there are none."""
    return [
        Option(f"{before}{key.name}:", key.says)
        for key in KEYS.values()
        if begun.lower() in key.name
    ]


def key_of(name: str) -> Key | None:
    return KEYS.get(ALIASES.get(name.lower(), name.lower()))


def moments(now: datetime) -> Iterator[str]:
    """Today, the hour that runs, and since when it does."""
    hour = now.strftime("%Y-%m-%dT%H:00Z")
    yield from (now.date().isoformat(), f">{hour}", f"{hour}..")
