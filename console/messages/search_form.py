"""A search: a filter, and the queues on which the user may search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied

from broker.errors.messages import InvalidFilter
from broker.formats import filters
from broker.formats.filters import Filter
from broker.models import Queue
from broker.monitoring.search import Found
from broker.security import authorities, redaction
from broker.security.users import User
from console.edges import permissions

BROWSE = "broker.browse_queue"
OF_PAYLOADS = ("body", filters.PROPERTY.name)  # keys that need the authority browse


@dataclass(frozen=True, slots=True)
class Search:
    """A filter, and the queues to search: names by id."""

    filter: Filter
    within: Mapping[int, str]

    def facts_of(self, one: Found) -> dict[str, Any]:
        """The facts of an entry that was found, by name."""
        known = {field.name: getattr(one, field.name) for field in fields(one)}
        known["queue"] = self.within[known.pop("queue_id")]
        return known


def search(
    user: User | AnonymousUser | None,
    texts: Iterable[str],
    *,
    for_payloads: bool = False,
) -> Search:
    """Parse the search of a user, or of the process itself (None). Two queries.

    A filter on bodies or properties would reveal their contents. It finds nothing on
    queues that the user may not browse.

    Args:
        user: the user.
        texts: filters; all must match.
        for_payloads: whether bodies or properties will be returned.

    Raises:
        InvalidFilter: a filter cannot be parsed.
        MaskedSearch: it searches masked values that the user may not see.
        PermissionDenied: payloads are wanted, and the user may read none.
    """
    wanted = filters.parse(" ".join(texts))
    asks = [str(one) for one in wanted.terms if one.key.name in OF_PAYLOADS]
    reads = bool(asks) or for_payloads
    if reads and user is not None and not permissions.may(user, BROWSE):
        what = f"look for “{asks[0]}”" if asks else "read bodies and properties"
        raise PermissionDenied(
            f"To {what}, you need the permission {BROWSE}, as for reading payloads."
        )
    held = authorities.held_by(user)
    if asks:
        require_clear(held, wanted)
    needed: list[authorities.Authority] = ["inquire"]
    if reads:
        needed.append("browse")
    names = dict(Queue.objects.values_list("pk", "name"))
    for one in needed:
        if not held.everywhere(one):
            names = {pk: name for pk, name in names.items() if held.on(one, name)}
    return Search(wanted, names)


def require_clear(held: authorities.GrantedAuthorities, wanted: Filter) -> None:
    """Refuse a filter that searches masked values.

    A message's copies may be on any queue, so it is refused on all queues.

    Raises:
        MaskedSearch: the filter searches masked values.
    """
    sight = redaction.sight_of(None, held)
    for term in wanted.terms:
        if term.key.name in OF_PAYLOADS:
            is_property = term.key == filters.PROPERTY
            sight.require_search(str(term), term.name if is_property else None)


@dataclass(frozen=True, slots=True)
class FilterFault:
    """The part of a filter that cannot be parsed, and the rest."""

    readable: Filter
    text: str  # the rest of the filter, as written; empty if only the total is too long
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
