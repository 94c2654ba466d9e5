"""Links to the search for messages."""

from __future__ import annotations

from urllib.parse import urlencode

from django.urls import reverse

from broker.formats import filters
from broker.formats.filters import Filter


def query_of(wanted: Filter, **more: str) -> str:
    """The query string of a filter, one parameter per term."""
    pairs = [("f", str(term)) for term in wanted.terms]
    encoded = urlencode([*pairs, *more.items()])
    return f"?{encoded}" if encoded else ""


def url_of(wanted: Filter) -> str:
    return f"{reverse('console:messages')}{query_of(wanted)}"


def filter_of(*pairs: tuple[str, str]) -> Filter:
    """The filter for these values, by key; empty values are left out."""
    asked = ((key, write_term(key, value)) for key, value in pairs if value)
    return Filter(tuple(filters.equal(key, value) for key, value in asked))


def write_term(key: str, value: str) -> str:
    """A value in the syntax of filters; causes are words there."""
    return value.lower().replace("_", "-") if key == "cause" else value
