"""Completions for a filter as it is typed: keys, then values.

Values come from the newest messages that match the earlier terms, on queues the user
may see. Values that are not offered can still be typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from django.utils.translation import gettext

from broker.errors.acts import PayloadsNotPermitted
from broker.errors.messages import InvalidFilter, SearchTooLong
from broker.errors.redaction import MaskedSearch
from broker.formats.filters import KEYS, PATH, PROPERTY, Key, KeyKind, paths
from broker.formats.filters.keys import ALIASES
from broker.formats.filters.values import quoted
from broker.formats.quantities import write_count
from broker.monitoring import search as finding
from broker.monitoring import visible_search
from broker.monitoring.search.tallies import NEWEST
from broker.security import redaction
from broker.security.users import User

MOST = 20  # the most completions that are offered
LAST = re.compile(r"(?P<before>(?:.*[ \t])?-?)(?P<term>[^ \t]*)", re.S)
BODY = "body."  # begins a term on a value in a body
MEMBER = re.compile(r"(.*?)((?:\[\])?[.:])", re.S)
EXAMPLES: dict[KeyKind, tuple[str, ...]] = {
    KeyKind.NUMBER: ("0", ">0", ">=3", "1..5"),
    KeyKind.SIZE: (">10kB", ">1MiB", "<500"),
    KeyKind.SPAN: ("<15m", ">1h", ">1d", "1h..2h"),
}


@dataclass(frozen=True, slots=True)
class Option:
    """A completed text, and the meaning of its last part."""

    value: str
    says: str = ""


@dataclass(frozen=True, slots=True)
class Completions:
    """The completions, and their source."""

    options: list[Option]
    said: str = ""


@dataclass(frozen=True, slots=True)
class Typed:
    """A text split before its last value: what precedes it, and that value's start."""

    before: str
    key: Key
    name: str | None  # the property's name; None: the user is typing this name
    begun: str
    ends: str = ""  # the text after the value

    def offer(self, values: Iterable[str], says: str = "") -> list[Option]:
        begun = self.begun.strip('"').lower()
        alike = [one for one in values if begun in one.lower()]
        alike.sort(key=lambda one: not one.strip('"').lower().startswith(begun))
        return [Option(f"{self.before}{one}{self.ends}", says) for one in alike[:MOST]]


def complete(
    user: User | AnonymousUser, texts: Sequence[str], text: str
) -> Completions:
    """Completions of a text.

    Args:
        user: the user.
        texts: further filters that must match.
        text: the text typed so far.
    """
    if text.count('"') % 2:
        return Completions([])  # the cursor is within quotes
    found = LAST.fullmatch(text)
    assert found, "it matches any text"
    before, term = found["before"], found["term"]
    asked = CompletionScope(user, [*texts, before.rstrip("- \t")])
    try:
        return asked.complete(before, term)
    except (
        InvalidFilter,
        MaskedSearch,
        PayloadsNotPermitted,
        SearchTooLong,
    ) as error:
        return Completions([], str(error))


@dataclass(frozen=True, slots=True)
class CompletionScope:
    """The user, and the filters that messages must match."""

    user: User | AnonymousUser
    texts: Sequence[str]

    def complete(self, before: str, term: str) -> Completions:
        name, colon, value = term.partition(":")
        key = key_of(name)
        if not colon and key not in (PROPERTY, PATH):
            return Completions(keys_like(before, name))
        if not colon and key == PROPERTY:
            typed = Typed(f"{before}h.", PROPERTY, None, name[2:], ends=":")
            return self.values_of_messages(typed)
        if not colon:
            return self.members(before, name)
        if key is None:
            return Completions([])
        earlier, comma, begun = value.rpartition(",")
        named = {PROPERTY: name[2:].strip('"'), PATH: name[len(BODY) :]}.get(key)
        typed = Typed(f"{before}{name}:{earlier}{comma}", key, named, begun)
        return self.values(typed)

    def members(self, before: str, name: str) -> Completions:
        """The next step of a path in bodies."""
        at, dot, begun = name[len(BODY) :].rpartition(".")
        typed = Typed(f"{before}{BODY}{at}{dot}", PATH, f"{at}{dot}", begun)
        return self.values_of_messages(typed)

    def values(self, typed: Typed) -> Completions:
        """Values of a key: all possible ones, those of messages, or examples."""
        match typed.key.kind:
            case KeyKind.CHOICE:
                return Completions(typed.offer(typed.key.choices))
            case KeyKind.TEXT | KeyKind.PROPERTY:
                return self.values_of_messages(typed)
            case KeyKind.MOMENT:
                return Completions(
                    typed.offer(moments(timezone.now()), gettext("in UTC"))
                )
        examples = EXAMPLES.get(typed.key.kind, ())
        return Completions(typed.offer(examples, gettext("for example")))

    def values_of_messages(self, typed: Typed) -> Completions:
        """Values of the newest messages; or the names of their properties."""
        of_payloads = typed.key in (PROPERTY, PATH)
        if of_payloads and typed.name is not None:
            self.require_clear(typed.key, typed.name)
        search = visible_search.search(self.user, self.texts, for_payloads=of_payloads)
        if typed.key.name == "queue":
            return Completions(typed.offer(map(quoted, sorted(search.within.values()))))
        try:
            tally = finding.values(
                search.filter, typed.key, typed.name, within=search.within
            )
        except ValueError:  # the path cannot be read
            return Completions([])
        known = [one for one, _ in tally.most_common() if one.isprintable()]
        is_of_steps = typed.key == PATH and typed.before.endswith((BODY, "."))
        write = step_written if is_of_steps else quoted
        return Completions(typed.offer(map(write, known)), of_newest())

    def require_clear(self, key: Key, name: str) -> None:
        """Refuse values that are masked, as a search for them is refused."""
        sight = redaction.sight_of(self.user)
        if key == PATH:
            sight.require_search(f"{BODY}{name}")
        else:
            sight.require_search(f"h.{name}", name)


def of_newest() -> str:
    """Where values come from."""
    return gettext("Values of the newest %(n)s messages that match the rest.") % {
        "n": write_count(NEWEST)
    }


def step_written(member: str) -> str:
    """A step of a path, and what follows it; the name in quotes if it needs them."""
    name, follows = MEMBER.fullmatch(member).groups()  # type: ignore[union-attr]
    return f"{paths.written(name)}{follows}"


def keys_like(before: str = "", begun: str = "") -> list[Option]:
    """Keys that contain these letters; without letters, all keys."""
    return [
        Option(f"{before}{key.name}:", gettext(key.says))
        for key in KEYS.values()
        if begun.lower() in key.name
    ]


def key_of(name: str) -> Key | None:
    """The key with this name; of a property or a path, what is before the name."""
    for key, prefix in ((PROPERTY, "h."), (PATH, BODY)):
        if name.lower().startswith(prefix):
            return key
    return KEYS.get(ALIASES.get(name.lower(), name.lower()))


def moments(now: datetime) -> Iterator[str]:
    """Today, the present hour, and its beginning."""
    hour = now.strftime("%Y-%m-%dT%H:00Z")
    yield from (now.date().isoformat(), f">{hour}", f"{hour}..")
