"""The picture of the topology, as nodes and routes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain

from django.utils.translation import gettext, gettext_noop, ngettext

from broker.config.moves import created_by
from broker.formats.quantities import write_count
from broker.models import Address
from broker.security.authorities import Principal
from console.bridges.rows import LinkRow
from console.topology.choosing import MOST, choose, links_of, matching
from console.topology.network import (
    HIDDEN,
    MapNode,
    Network,
    NodeKey,
    NodeKind,
    NodeRoute,
)
from console.topology.survey import Survey, key_of_link

ABSENT = gettext_noop("does not exist")


def read_network(actor: Principal, text: str = "", limit: int = MOST) -> Network:
    """The queues that a text finds and all that is connected to them; of many, the most
    troubled and the deepest.

    Args:
        actor: who looks; what one may not see has no name, or is left out.
        text: part of the name of a queue or an address, or a pattern with ``*``.
        limit: the most queues.
    """
    survey = Survey(actor)
    found = matching(survey.queues.values(), text)
    links = links_of(survey.links, found, text)
    names = chain(survey.queues_of(links), (one.name for one in found))
    chosen = choose(names, survey.onward, limit)
    every = list(dict.fromkeys(survey.routes(chosen, links)))
    others = survey.queues.keys() - set(chosen)
    routes = [one for one in every if not leads_to(others, one)]
    return Network(
        nodes_of(survey, chosen, links, routes),
        routes,
        queues=len(survey.queues),
        matching=len(found),
        folded=len(every) - len(routes),
    )


def leads_to(others: Collection[str], route: NodeRoute) -> bool:
    """Whether a route begins or ends at one of some queues."""
    ends = (route.source, route.target)
    return any(one.kind is NodeKind.QUEUE and one.name in others for one in ends)


def nodes_of(
    survey: Survey,
    chosen: Iterable[str],
    links: Iterable[LinkRow],
    routes: Iterable[NodeRoute],
) -> list[MapNode]:
    """The chosen queues and links, and what else is at the ends of routes."""
    rows = {key_of_link(row): row for row in links}
    queues = [NodeKey(NodeKind.QUEUE, name) for name in chosen]
    ends = [end for one in routes for end in (one.source, one.target)]
    every = list(dict.fromkeys([*rows, *queues, *ends]))
    notes = notes_on(survey, every)
    return [
        MapNode(
            key,
            survey.queues.get(key.name) if key.kind is NodeKind.QUEUE else None,
            rows.get(key),
            notes.get(key, ""),
        )
        for key in every
    ]


def notes_on(survey: Survey, keys: Iterable[NodeKey]) -> Mapping[NodeKey, str]:
    """What is to be known of nodes beside their names. One query."""
    names = {one.name for one in keys if one.kind is NodeKind.QUEUE}
    addresses = [one for one in keys if one.kind is NodeKind.ADDRESS]
    empty = [one.name for one in addresses if not survey.found.fed_by(one.name)]
    there = set(Address.objects.filter(name__in=empty).values_list("name", flat=True))
    made = {to for rule in survey.found.rules for to in created_by(rule)}
    notes = {HIDDEN: gettext("what you may not see")}
    notes |= {
        one: gettext(ABSENT)
        for one in keys
        if one.kind is NodeKind.QUEUE and one.name not in survey.queues
    }
    for one in addresses:
        fed = [row.name for row in survey.found.fed_by(one.name)]
        hidden = sum(name not in survey.queues for name in fed)
        more = len(fed) - hidden - len(names.intersection(fed))
        if fed:
            notes[one] = ", ".join(others_fed(more, hidden))
        elif one.name in made:
            notes[one] = gettext("its queues come with the first message")
        elif one.name in there:
            notes[one] = gettext("feeds no queue")
        else:
            notes[one] = gettext(ABSENT)
    return notes


def others_fed(more: int, hidden: int) -> Iterator[str]:
    """How many queues of an address are not drawn, and how many are hidden."""
    if more:
        text = ngettext("%(n)s more queue", "%(n)s more queues", more)
        yield text % {"n": write_count(more)}
    if hidden:
        text = ngettext("%(n)s hidden", "%(n)s hidden", hidden)
        yield text % {"n": write_count(hidden)}
