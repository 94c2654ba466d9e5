"""What the page of messages shows of a filter: its terms one by one, rows whose values
can be added to it, and how many there are, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.urls import reverse

from broker.formats import filters
from broker.formats.filters import KEYS, Filter, Term
from broker.formats.filters.building import TERMS
from broker.formats.filters.parsing import LENGTH
from broker.monitoring import search as finding
from broker.monitoring.search import Count, Found
from broker.monitoring.search.pages import MOST
from console.messages import search_form

FIELDS = {  # of what was found, where a key has another name
    "type": "subject",
    "content": "content_type",
    "origin": "origin_queue",
}
FEW = 4  # terms; of more, nobody counts what each leaves out
SEARCH = finding.Effort(seconds=0.06)  # for a page; then it says how far it came
COUNTING = finding.Effort(looks=6, seconds=0.03)  # few among millions are counted so


@dataclass(frozen=True, slots=True)
class Chip:
    """One term of a filter, and the pages that one gets to from it."""

    text: str
    without: str
    edited: str  # without it, but with its text in the field


@dataclass(frozen=True, slots=True)
class SearchResultRow:
    """One entry that was found, and the filter that found it."""

    found: Found
    queue: str
    wanted: Filter
    queries: dict[tuple[str, str | int], str]  # of all rows, which have much in common

    @property
    def item(self) -> str:
        """What a checkbox says."""
        return f"{self.found.message_id}.{self.found.queue_id}"

    def value(self, key: str) -> str | int | None:
        """What this has, as a filter says it."""
        if key == "queue":
            return self.queue
        value: str | int | None = getattr(self.found, FIELDS.get(key, key))
        return said(key, value) if isinstance(value, str) else value

    def adds(self, key: str) -> str:
        """The query of the page for just this value; empty where it is asked for
        already, or makes the filter too long."""
        value = self.value(key)
        if value is None or value == "":
            return ""
        if (key, value) not in self.queries:
            term = filters.equal(key, value)
            wanted = self.wanted.plus(term)
            is_new = term not in self.wanted.terms and fits(wanted)
            self.queries[key, value] = query_of(wanted) if is_new else ""
        return self.queries[key, value]


@dataclass(frozen=True, slots=True)
class Fewer:
    """A filter without one of its terms, and what it would find."""

    term: str
    query: str
    count: Count | None  # none: nobody counted

    @property
    def in_words(self) -> str:
        return in_words(self.count) if self.count else "More"


def fits(wanted: Filter) -> bool:
    return len(wanted.terms) <= TERMS and len(str(wanted)) <= LENGTH


def query_of(wanted: Filter, **more: str) -> str:
    """What the URL of a filter's page says, each term for itself."""
    pairs = [("f", str(term)) for term in wanted.terms]
    encoded = urlencode([*pairs, *more.items()])
    return f"?{encoded}" if encoded else ""


def url_of(wanted: Filter) -> str:
    return f"{reverse('console:messages')}{query_of(wanted)}"


def filter_of(*pairs: tuple[str, str]) -> Filter:
    """The filter for just these values, by key; those that are empty ask nothing."""
    asked = ((key, said(key, value)) for key, value in pairs if value)
    return Filter(tuple(filters.equal(key, value) for key, value in asked))


def said(key: str, value: str) -> str:
    """A value as a filter says it: causes are words there."""
    return value.lower().replace("_", "-") if key == "cause" else value


def chips_of(wanted: Filter) -> list[Chip]:
    return [
        Chip(
            str(term),
            query_of(wanted.minus(term)),
            query_of(wanted.minus(term), draft=str(term)),
        )
        for term in wanted.terms
    ]


def rows_of(
    page: finding.SearchPage, search: search_form.Search
) -> list[SearchResultRow]:
    queries: dict[tuple[str, str | int], str] = {}
    return [
        SearchResultRow(one, search.within[one.queue_id], search.filter, queries)
        for one in page.rows
        if one.queue_id in search.within
    ]


def counted(
    search: search_form.Search, page: finding.SearchPage, *, is_first: bool
) -> finding.Count:
    """How many there are in all. The first page knows the beginning, and often all."""
    start = page.count
    if is_first and (not page.after or page.is_limited):
        return start
    after, most = (page, MOST - start.messages) if is_first else (None, MOST)
    rest = finding.count(
        search.filter, within=search.within, after=after, most=most, effort=COUNTING
    )
    return start + rest if is_first else max(start, rest, key=lambda one: one.messages)


def in_words(count: Count) -> str:
    """A number of messages; “or more” where nobody counted to the end."""
    return f"{count.messages:,}" if count.is_exact else f"{count.messages:,} or more"


def without_each(user: User | AnonymousUser, wanted: Filter) -> list[Fewer]:
    """What would be found without each of a filter's terms; most first."""
    fewer = [without(user, wanted, term) for term in wanted.terms]
    return sorted(fewer, key=lambda one: -one.count.messages if one.count else 0)


def without(user: User | AnonymousUser, wanted: Filter, term: Term) -> Fewer:
    rest = wanted.minus(term)
    fewer = Fewer(str(term), query_of(rest), None)
    if len(wanted.terms) > FEW:
        return fewer
    try:
        search = search_form.search(user, map(str, rest.terms))
    except PermissionDenied:
        return fewer
    count = finding.count(rest, within=search.within, effort=COUNTING)
    return Fewer(fewer.term, fewer.query, count)


def keys_in_words() -> Iterator[tuple[str, str, str]]:
    """Every key, what it asks for, and the words that it knows; for a page of help."""
    for key in KEYS.values():
        yield key.name, key.says, ", ".join(key.choices)
