"""Who may see a link, and who may act on it.

A link names queues of this broker and tells how deep they are. So it is seen by those
who may inquire all of these, and started or stopped by those who may set them, beside
the permissions that open the pages.
"""

from __future__ import annotations

from django.http import Http404

from broker.bridges.commands import link_of
from broker.errors.bridges import NoSuchBridge, NoSuchLink
from broker.models import Link, LinkStatus
from broker.security import authorities
from dashboards.live.link_status import ENDS, ends_here, sees

VIEW = "broker.view_link"
OPERATE = "broker.operate_link"
DECIDE = "broker.decide_branch"


def visible(held: authorities.GrantedAuthorities) -> list[Link]:
    """The links that somebody may see, by bridge and name. One query."""
    every = Link.objects.select_related("status", *ENDS)
    return [
        one
        for one in every.order_by("bridge__name", "name")
        if sees(held, ends_here(one))
    ]


def found(user: authorities.Principal, bridge: str, link: str) -> Link:
    """One link, with its ends.

    Raises:
        Http404: there is none of this name.
        NotAuthorized: this person may not know of it.
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
    """Go on only with an authority on each queue here that a link has as an end.

    Raises:
        NotAuthorized: it is missing on one of them.
    """
    authorities.require(user, authority, *sorted(ends_here(link)))


def status_of(link: Link) -> LinkStatus:
    """How a link does; of one that was never started, what that means."""
    try:
        return link.status
    except LinkStatus.DoesNotExist:
        return LinkStatus(link=link)
