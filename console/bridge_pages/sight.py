"""Who may see a link, and who may order it to start, pause or stop.

A link reveals queues of this broker and their depths. Users need the authority
``inquire`` on all these queues to see it, and ``set`` on them to give it orders, beside
the permissions for the pages.
"""

from __future__ import annotations

from django.http import Http404

from broker.bridges.commands import link_of
from broker.bridges.configured import ENDS, ends_here
from broker.errors.bridges import NoSuchBridge, NoSuchLink
from broker.models import Link, LinkStatus
from broker.security import authorities
from dashboards.live.link_status import sees

VIEW = "broker.view_link"
OPERATE = "broker.operate_link"
DECIDE = "broker.decide_branch"


def visible(held: authorities.GrantedAuthorities) -> list[Link]:
    """Links that the user may see, by bridge and name. One query."""
    every = Link.objects.select_related("status", *ENDS)
    return [
        one
        for one in every.order_by("bridge__name", "name")
        if sees(held, ends_here(one))
    ]


def found(user: authorities.Principal, bridge: str, link: str) -> Link:
    """One link, with its ends.

    Raises:
        Http404: no such link.
        NotAuthorized: the user may not see it.
    """
    try:
        one = link_of(bridge, link)
    except (NoSuchBridge, NoSuchLink) as error:
        raise Http404(str(error)) from error
    require(user, "inquire", one)
    return one


def require(
    user: authorities.Principal, authority: authorities.Authority, link: Link
) -> None:
    """Check an authority on each queue here that is an end of the link.

    Raises:
        NotAuthorized: it is missing on one of them.
    """
    authorities.require(user, authority, *sorted(ends_here(link)))


def status_of(link: Link) -> LinkStatus:
    """The status of a link, or that of a link never started."""
    try:
        return link.status
    except LinkStatus.DoesNotExist:
        return LinkStatus(link=link)
