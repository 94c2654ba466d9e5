"""A search: a filter, and the queues on which its actor may search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from broker.errors.acts import PayloadsNotPermitted
from broker.formats import filters
from broker.formats.filters import Filter
from broker.models import Queue
from broker.monitoring.search import Found
from broker.security import authorities, permissions, redaction
from broker.security.authorities import Principal

BROWSE = "broker.browse_queue"
# Keys that need the authority browse.
OF_PAYLOADS = ("body", filters.PATH.name, filters.PROPERTY.name)


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
    actor: Principal,
    texts: Iterable[str],
    *,
    for_payloads: bool = False,
) -> Search:
    """Parse the search of an actor. Two queries.

    A filter on bodies or properties would reveal their contents. It finds nothing on
    queues that the actor may not browse.

    Args:
        actor: the user or credential; None is the process itself.
        texts: filters; all must match.
        for_payloads: whether bodies or properties will be returned.

    Raises:
        InvalidFilter: a filter cannot be parsed.
        MaskedSearch: it searches masked values that the actor may not see.
        PayloadsNotPermitted: payloads are wanted, and the actor may read none.
    """
    wanted = filters.parse(" ".join(texts))
    asks = [str(one) for one in wanted.terms if one.key.name in OF_PAYLOADS]
    reads = bool(asks) or for_payloads
    if reads and not permissions.may(actor, BROWSE):
        what = f"look for “{asks[0]}”" if asks else "read bodies and properties"
        raise PayloadsNotPermitted(BROWSE, what)
    held = authorities.held_by(actor)
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
