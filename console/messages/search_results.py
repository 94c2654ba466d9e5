"""The Messages page: the filter's terms, rows with clickable values, and counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext

from broker.errors.acts import PayloadsNotPermitted
from broker.formats import filters
from broker.formats.filters import KEYS, Filter, Term
from broker.formats.filters.building import TERMS
from broker.formats.filters.parsing import LENGTH
from broker.formats.quantities import write_count
from broker.monitoring import search as finding
from broker.monitoring import visible_search
from broker.monitoring.search import Count, Found
from broker.monitoring.search.pages import MOST
from broker.security.users import User
from console.layout.search_links import query_of, write_term

FIELDS = {  # attributes of found messages by key, where the names differ
    "type": "subject",
    "content": "content_type",
    "origin": "origin_queue",
}
FEW = 4  # if a filter has more terms, the effects of single terms are not counted
SEARCH = finding.Effort(seconds=0.05)  # a search for a page stops after this time
TOGETHER_S = 0.06  # the most seconds for a page and the count of further messages
COUNTING = finding.Effort(looks=6, seconds=0.02)  # the limits of a count without a page


@dataclass(frozen=True, slots=True)
class Chip:
    """One term of a filter, and links that change or remove it."""

    text: str
    without: str
    edited: str  # the query without this term; the search field has its text


@dataclass(frozen=True, slots=True)
class SearchResultRow:
    """One entry that was found, and the filter that found it."""

    found: Found
    queue: str
    wanted: Filter
    # query strings by key and value; shared by all rows
    queries: dict[tuple[str, str | int], str]

    @property
    def item(self) -> str:
        """The value of a checkbox."""
        return f"{self.found.message_id}.{self.found.queue_id}"

    def value(self, key: str) -> str | int | None:
        """A value in the syntax of filters."""
        if key == "queue":
            return self.queue
        value: str | int | None = getattr(self.found, FIELDS.get(key, key))
        return write_term(key, value) if isinstance(value, str) else value

    def adds(self, key: str) -> str:
        """The query string that adds this value to the filter; empty if it is already
        there or makes the filter too long.
        """
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
    """A filter without one of its terms, and the number of messages it matches."""

    term: str
    query: str
    count: Count | None  # None: not counted

    @property
    def in_words(self) -> str:
        return in_words(self.count) if self.count else gettext("More")


def fits(wanted: Filter) -> bool:
    return len(wanted.terms) <= TERMS and len(str(wanted)) <= LENGTH


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
    page: finding.SearchPage, search: visible_search.Search
) -> list[SearchResultRow]:
    queries: dict[tuple[str, str | int], str] = {}
    return [
        SearchResultRow(one, search.within[one.queue_id], search.filter, queries)
        for one in page.rows
        if one.queue_id in search.within
    ]


def counted(
    search: visible_search.Search,
    page: finding.SearchPage,
    *,
    is_first: bool,
    took_s: float,
) -> finding.Count:
    """The total number of matches, from the first page if that suffices.

    Args:
        search: the search.
        page: the page that was found.
        is_first: whether it is the first page.
        took_s: seconds that the page took.
    """
    start = page.count
    if is_first and (not page.after or page.is_limited):
        return start
    after, most = (page, MOST - start.messages) if is_first else (None, MOST)
    effort = finding.Effort(COUNTING.looks, max(TOGETHER_S - took_s, 0))
    rest = finding.count(
        search.filter, within=search.within, after=after, most=most, effort=effort
    )
    return start + rest if is_first else max(start, rest, key=lambda one: one.messages)


def in_words(count: Count) -> str:
    """A number of messages; “or more” if counting stopped at its limit."""
    number = write_count(count.messages)
    return number if count.is_exact else gettext("%(n)s or more") % {"n": number}


def without_each(user: User | AnonymousUser, wanted: Filter) -> list[Fewer]:
    """Matches without each of the filter's terms; most first."""
    fewer = [without(user, wanted, term) for term in wanted.terms]
    return sorted(fewer, key=lambda one: -one.count.messages if one.count else 0)


def without(user: User | AnonymousUser, wanted: Filter, term: Term) -> Fewer:
    rest = wanted.minus(term)
    fewer = Fewer(str(term), query_of(rest), None)
    if len(wanted.terms) > FEW:
        return fewer
    try:
        search = visible_search.search(user, map(str, rest.terms))
    except PayloadsNotPermitted:
        return fewer
    count = finding.count(rest, within=search.within, effort=COUNTING)
    return Fewer(fewer.term, fewer.query, count)


def keys_in_words() -> Iterator[tuple[str, str, str]]:
    """Every key, its meaning and its words, for the help page."""
    for key in KEYS.values():
        yield key.name, gettext(key.says), ", ".join(key.choices)
