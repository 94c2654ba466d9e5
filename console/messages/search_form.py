"""What a person looks for: a filter, and the queues on which they may look for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied

from broker.errors.messages import InvalidFilter
from broker.formats import filters
from broker.formats.filters import Filter
from broker.models import Queue
from broker.monitoring.search import Found
from broker.security import authorities, redaction
from console.accounts import permissions

BROWSE = "broker.browse_queue"
OF_PAYLOADS = ("body", filters.PROPERTY.name)  # what it takes a right to browse to ask


@dataclass(frozen=True, slots=True)
class Search:
    """One filter, and the queues that are looked at: their names, by id."""

    filter: Filter
    within: Mapping[int, str]

    def told(self, one: Found) -> dict[str, Any]:
        """What is known of an entry that was found, by name; its queue by its name."""
        known = {field.name: getattr(one, field.name) for field in fields(one)}
        known["queue"] = self.within[known.pop("queue_id")]
        return known


def search(
    user: User | AnonymousUser | None,
    texts: Iterable[str],
    *,
    for_payloads: bool = False,
) -> Search:
    """Read what a person, or None for the process itself, looks for. Two queries.

    What is asked of bodies and properties would tell what is in them: such a filter
    finds nothing on queues that this person may not browse.

    Args:
        user: who looks.
        texts: filters, which have to be met together.
        for_payloads: whether bodies or properties of what is found will be told.

    Raises:
        InvalidFilter: it cannot be read.
        MaskedSearch: it asks for what is masked, which this person may not see.
        PermissionDenied: it asks for payloads, and this person may read none.
    """
    wanted = filters.parse(" ".join(texts))
    asks = [str(one) for one in wanted.terms if one.key.name in OF_PAYLOADS]
    reads = bool(asks) or for_payloads
    if reads and user is not None and not permissions.may(user, BROWSE):
        what = f"look for “{asks[0]}”" if asks else "read bodies and properties"
        raise PermissionDenied(
            f"To {what} needs the permission {BROWSE}, as reading payloads does."
        )
    held = authorities.held_by(user)
    if asks:
        require_clear(held, wanted)
    needed: list[authorities.Authority] = ["inquire"]
    if reads:
        needed.append("browse")
    return Search(
        wanted,
        {
            pk: name
            for pk, name in Queue.objects.values_list("pk", "name")
            if all(held.on(one, name) for one in needed)
        },
    )


def require_clear(held: authorities.GrantedAuthorities, wanted: Filter) -> None:
    """Go on only if a filter asks for nothing that is masked.

    Copies of a message may lie on any queue, so it is refused on all of them.

    Raises:
        MaskedSearch: it does.
    """
    sight = redaction.sight_of(None, held)
    for term in wanted.terms:
        if term.key.name in OF_PAYLOADS:
            is_property = term.key == filters.PROPERTY
            sight.require_search(str(term), term.name if is_property else None)


@dataclass(frozen=True, slots=True)
class FilterFault:
    """What of a filter cannot be read, and what can."""

    readable: Filter
    text: str  # the rest, as it was written; empty if only all together are too much
    error: InvalidFilter

    @property
    def before(self) -> str:
        """What stands before the fault."""
        return self.error.filter[: self.error.position - 1]

    @property
    def rest(self) -> str:
        return self.error.filter[self.error.position - 1 :]


def fault_of(texts: Sequence[str], whole: InvalidFilter) -> FilterFault:
    """Tell what can be read of filters that together cannot.

    Args:
        texts: as they were given.
        whole: why they cannot be read together.
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
