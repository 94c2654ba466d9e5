"""Open units of work as far as a user may see them, and ending one by force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker.models import Queue
from broker.monitoring.backout_preview import Ending
from broker.security import authorities
from broker.transactions import administration
from broker.transactions.administration import HeldEntry, Nature, OpenUnit

# possible endings, the most likely first
ENDINGS: Mapping[Nature, Sequence[Ending]] = {
    Nature.LEASED: (Ending.BACK_OUT, Ending.LOST),
    Nature.AHEAD: (Ending.LOST, Ending.RELEASE),
    Nature.PREPARED: (Ending.BACK_OUT,),
}


def visible_queues(held: authorities.GrantedAuthorities) -> dict[int, str]:
    """The queues that the user may inquire, by id."""
    rows = Queue.objects.values_list("pk", "name")
    return {pk: name for pk, name in rows if held.on("inquire", name)}


def listed(
    held: authorities.GrantedAuthorities,
    names: Mapping[int, str],
    *,
    after: int,
    limit: int,
) -> list[OpenUnit]:
    """The units of work that hold entries of these queues, the oldest first."""
    within = None if held.everywhere("inquire") else list(names)
    return administration.open_units(within=within, first=after + 1, limit=limit)


def visible_entries(
    held: authorities.GrantedAuthorities, uow: int, names: Mapping[int, str]
) -> tuple[list[HeldEntry], int]:
    """The first entries of a unit of work that the user may see, and how many of the
    first are hidden."""
    entries = administration.entries_of(uow)
    if held.everywhere("inquire"):
        return entries, 0
    visible = [one for one in entries if one.held.queue_id in names]
    return visible, len(entries) - len(visible)


def queues_of(unit: OpenUnit, names: Mapping[int, str]) -> list[str]:
    """The names of the unit's queues; empty for those that the user may not inquire."""
    return sorted(names.get(one, "") for one in unit.queue_ids)


def can_force(unit: OpenUnit) -> bool:
    return unit.nature is Nature.LEASED or (
        unit.nature is Nature.AHEAD and not unit.is_alive
    )
