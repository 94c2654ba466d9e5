"""The search by name or number: a page, an action, a queue, link, message or unit of
work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from broker.acts.objects import visible_links
from broker.models import Queue
from broker.monitoring.dead_letters import NEWEST
from broker.security import authorities
from console.edges.permissions import LINKS
from console.home.frame import Frame
from console.layout import actions

MOST = 10  # queues listed
SHORTEST = 3  # a shorter text finds no words of other products
SYNONYMS = {  # words of other products, by the view to which they lead
    "console:dead_letters": (
        "retry redrive requeue replay dlq dla fail failed failure error poison"
    ),
    "console:units": "ack acknowledge nack unacked unsettled inflight locked",
    "console:scheduled": "postponed deferred backoff schedule",
    "console:discards": "trash recycle undelete restore deleted",
    "console:queues": "topics destinations channels publish send purge",
    "console:messages": "search browse peek find",
    "console:consumers": "subscribers listeners handlers workers",
    "console:connections": "clients sessions sockets",
    "console:bridges": "shovel federation connector links",
    "console:credentials": "password token secret key apikey",
    "console:operations": "batch bulk job undo",
    "console:health": "check checks alert warning",
    "dashboards:reports": "metrics statistics charts",
    "console:audit": "log history activity",
    "console_settings:index": "admin configuration users roles policies exchanges",
}


@dataclass(frozen=True, slots=True)
class GoToTarget:
    """One search result."""

    name: str
    what: str  # the kind of the target: a page, an action, a queue …
    icon: str
    url: str


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def go(request: HttpRequest) -> HttpResponse:
    """The results of a search; a redirect if exactly one has this full name.

    The search bar requests only the list, while the user types.
    """
    wanted = request.GET.get("q", "").strip()[:255]
    ways = list(ways_to(request, wanted)) if wanted else []
    is_part = bool(request.headers.get("HX-Request"))
    exact = [way for way in ways if way.name.casefold() == wanted.casefold()]
    if not is_part and (len(exact) == 1 or len(ways) == 1):
        return redirect((exact or ways)[0].url)
    template = (
        "console/home/palette/_ways.html" if is_part else "console/home/palette/go.html"
    )
    return render(request, template, {"wanted": wanted, "ways": ways})


def ways_to(request: HttpRequest, wanted: str) -> Iterator[GoToTarget]:
    """The targets that match: pages first, then queues. A number may be the number of a
    message.
    """
    yield from ways_to_pages(request, wanted.casefold())
    if wanted.isdecimal() and 0 < int(wanted) <= NEWEST:
        number = int(wanted)
        yield GoToTarget(
            gettext("Message %(number)s") % {"number": number},
            gettext("by its number"),
            "search",
            reverse("console:message", args=[number]),
        )
        yield GoToTarget(
            gettext("Unit of work %(number)s") % {"number": number},
            gettext("by its number"),
            "in-flight",
            reverse("console:unit", args=[number]),
        )
    held = authorities.held_by(request.user)
    yield from ways_to_actions(request, held, wanted)
    names = Queue.objects.filter(name__icontains=wanted).order_by("name")
    seen = [
        name
        for name in names.values_list("name", flat=True)
        if held.on("inquire", name)
    ]
    seen.sort(key=lambda name: (not name.startswith(wanted), len(name)))
    for name in seen[:MOST]:
        url = reverse("console:queue", args=[name])
        yield GoToTarget(name, gettext("queue"), "queues", url)
    if more := len(seen) - MOST if len(seen) > MOST else 0:
        url = f"{reverse('console:queues')}?{urlencode({'q': wanted})}"
        words = ngettext("%(n)s more queue", "%(n)s more queues", more) % {"n": more}
        yield GoToTarget(words, gettext("with this in their names"), "queues", url)
    if request.user.has_perm(LINKS):
        yield from ways_to_links(held, wanted)


def ways_to_pages(request: HttpRequest, part: str) -> Iterator[GoToTarget]:
    """Pages with this in their names; then those that other products name like this."""
    places = Frame(request).destinations
    named = [
        place
        for place in places
        if any(part in name.casefold() for name in (gettext(place.name), place.name))
    ]
    for place in named:
        yield GoToTarget(gettext(place.name), gettext("page"), place.icon, place.url)
    for place in places if len(part) >= SHORTEST else ():
        words = SYNONYMS.get(place.view, "").split()
        word = next((word for word in words if word.startswith(part)), None)
        if word and place not in named:
            what = gettext("page, for “%(word)s”") % {"word": word}
            yield GoToTarget(gettext(place.name), what, place.icon, place.url)


def ways_to_actions(
    request: HttpRequest, held: authorities.GrantedAuthorities, wanted: str
) -> Iterator[GoToTarget]:
    """The pages of actions, which ask before they act."""
    for one in actions.elsewhere(request.user, wanted):
        url = reverse(one.view)
        yield GoToTarget(gettext(one.label), gettext("action"), one.icon, url)
    places = Frame(request).destinations
    for label, place in actions.listed(request.user, places, wanted):
        what = gettext("choose on %(page)s") % {"page": gettext(place.name)}
        yield GoToTarget(f"{label}…", what, place.icon, place.url)
    for one, name in actions.on_queues(request.user, held, wanted, most=MOST):
        url = reverse(one.view, args=[name])
        label = gettext(one.label).format(name)
        yield GoToTarget(label, gettext("action"), one.icon, url)


def ways_to_links(
    held: authorities.GrantedAuthorities, wanted: str
) -> Iterator[GoToTarget]:
    """Links of bridges with this name, with the name of their bridge or without."""
    part = wanted.casefold()
    names = [one for one in visible_links(held) if part in str(one).casefold()]
    for one in names[:MOST]:
        url = reverse("console:link", args=[one.bridge.name, one.name])
        yield GoToTarget(str(one), gettext("link of a bridge"), "bridges", url)
