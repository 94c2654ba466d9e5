"""Live numbers of links: queried once a second, sent to all open pages."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string

from broker.bridges.configured import ENDS, ends_here
from broker.bridges.standing import status_of
from broker.models import Branch, Link, LinkStatus
from broker.security import authorities
from broker.security.users import User
from console.bridges.rows import rows_of
from console.edges.permissions import LINKS
from dashboards.live import topics
from dashboards.live.link_status import sees

EVERY = 0  # the number by which a page asks for all links


def may_see_every(user: authorities.Principal, number: int) -> bool:
    is_every = number == EVERY and authorities.held_by(user).everywhere("inquire")
    return is_every and may(user)


def may_see(user: authorities.Principal, link_id: int) -> bool:
    found = Link.objects.select_related(*ENDS).filter(pk=link_id).first()
    if found is None or not may(user):
        return False
    return sees(authorities.held_by(user), ends_here(found))


def may(user: authorities.Principal) -> bool:
    return isinstance(user, User | AnonymousUser) and user.has_perm(LINKS)


def look_at_every(number: int) -> str:
    """The numbers that lists show of each link."""
    return html(Link.objects.select_related("bridge", "status"))


def look(link_id: int) -> str:
    """The numbers of one link's page, and the page's version."""
    found = Link.objects.select_related("bridge", "status").filter(pk=link_id)
    return "".join(
        html([one], turn=turn_of(status_of(one), branches_of(one)), is_whole=True)
        for one in found
    )


def html(every: Iterable[Link], *, turn: str = "", is_whole: bool = False) -> str:
    context = {"rows": rows_of(list(every)), "turn": turn, "is_whole": is_whole}
    return render_to_string("console/bridges/_numbers.html", context)


def turn_of(status: LinkStatus, branches: int) -> str:
    """The version of a link's page: when it changes, the page reloads its content."""
    parts = [status.state, status.wanted, status.failures, branches, status.dead]
    at = status.error_at.timestamp() if status.error_at else 0
    return "-".join(map(str, [*parts, at]))


def branches_of(link: Link) -> int:
    return Branch.objects.filter(link=link.pk).count()


topics.register(topics.Topic("links", may_see_every, look_at_every))
topics.register(topics.Topic("link", may_see, look))
