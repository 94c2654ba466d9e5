"""The part of a typed filter that cannot be parsed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from broker.errors.messages import InvalidFilter
from broker.formats import filters
from broker.formats.filters import Filter


@dataclass(frozen=True, slots=True)
class FilterFault:
    """The part of a filter that cannot be parsed, and the rest."""

    readable: Filter
    # the terms that cannot be parsed, as written; empty if the filter is only too long
    text: str
    error: InvalidFilter

    @property
    def before(self) -> str:
        """The text before the fault."""
        return self.error.filter[: self.error.position - 1]

    @property
    def rest(self) -> str:
        return self.error.filter[self.error.position - 1 :]


def fault_of(texts: Sequence[str], whole: InvalidFilter) -> FilterFault:
    """Find the faulty part of filters.

    Args:
        texts: the filters.
        whole: the error of all filters together.
    """
    readable: list[filters.Term] = []
    unreadable: list[str] = []
    for text in texts:
        try:
            readable += filters.parse(text).terms
        except InvalidFilter:
            unreadable.append(text)
    rest = " ".join(unreadable)
    try:
        filters.parse(rest)
    except InvalidFilter as error:
        whole = error
    return FilterFault(Filter(tuple(dict.fromkeys(readable))), rest, whole)
