"""Preferences of a user, stored in the browser."""

from __future__ import annotations

from collections.abc import Container
from datetime import timedelta

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST, require_safe

from broker.formats.quantities import write_duration
from broker.security.users import User
from console import second_factors
from console.accounts import sessions, time_zones
from console.bodies.own_columns import COOKIE, LONGEST_QUEUE, Choice
from console.layout.navigation import DENSITIES, THEMES, TIMES, url_of
from console.queues import queue_list
from console.runtime.prefix import root
from dashboards.live import languages, rates

YEAR = timedelta(days=365)


@require_safe
def preferences(request: HttpRequest) -> HttpResponse:
    """All preferences on one page; the menu has the most used."""
    assert isinstance(request.user, User), "only those who have signed in get here"
    context = {
        "zones": sorted(time_zones.names()),
        "idle": write_duration(settings.BACKOUT_SESSION_IDLE_S),
        "longest": write_duration(settings.BACKOUT_SESSION_LONGEST_S),
        "are_ours": sessions.are_ours(),
        "factors_url": url_of("mfa_index") if second_factors.are_installed() else "",
        "has_factor": second_factors.has_one(request.user),
        "sessions": [
            (sessions.name_of(one), one, one.pk == request.session.session_key)
            for one in sessions.sessions_of(request.user)
        ],
    }
    return render(request, "console/home/preferences/preferences.html", context)


@require_POST
def end_session(request: HttpRequest) -> HttpResponse:
    """End one of the user's own sessions, or all but this one."""
    assert isinstance(request.user, User), "only those who have signed in get here"
    own, meant = request.session.session_key, request.POST.get("session", "")
    ended = sessions.end(
        request.user,
        [
            one
            for one in sessions.sessions_of(request.user)
            if one.pk != own and meant in (sessions.name_of(one), "others")
        ],
    )
    words = ngettext("%(n)s session ended.", "%(n)s sessions ended.", ended)
    messages.success(request, words % {"n": ended} if ended else gettext("It ended."))
    return redirect("console:preferences")


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember the theme, so that the server renders the right one first."""
    return remembering(request, "theme", THEMES)


@require_POST
def density(request: HttpRequest) -> HttpResponse:
    """Remember the density of table rows."""
    return remembering(request, "density", DENSITIES)


@require_POST
def times(request: HttpRequest) -> HttpResponse:
    """Remember whether times are absolute, relative to now, or both."""
    return remembering(request, "times", TIMES)


@require_POST
def queue_columns(request: HttpRequest) -> HttpResponse:
    """Remember the columns that the list of queues shows."""
    chosen = queue_list.Columns.of(request.POST.getlist("column"))
    return remember(request, queue_list.COOKIE, chosen.hidden)


@require_POST
def own_columns(request: HttpRequest) -> HttpResponse:
    """Add an own column to lists of messages, or remove one."""
    before = Choice.of(request.COOKIES.get(COOKIE, ""))
    queue = request.POST.get("queue", "")[:LONGEST_QUEUE]
    try:
        if removed := request.POST.get("remove"):
            chosen = before.minus(queue, removed)
        else:
            chosen = before.plus(queue, request.POST.get("add", ""))
    except ValueError as error:
        messages.error(request, str(error))
        chosen = before
    return remember(request, COOKIE, chosen.cookie)


@require_POST
def zone(request: HttpRequest) -> HttpResponse:
    """Remember the time zone of times on pages."""
    return remembering(request, time_zones.COOKIE, time_zones.names())


@require_POST
def language(request: HttpRequest) -> HttpResponse:
    """Remember the language of pages; none is that of the browser."""
    return remembering(request, languages.COOKIE, {"", *languages.LANGUAGES})


@require_POST
def refresh(request: HttpRequest) -> HttpResponse:
    """Remember how often live pages change at most."""
    return remembering(request, rates.COOKIE, rates.SECONDS)


def remembering(
    request: HttpRequest, name: str, possible: Container[str]
) -> HttpResponse:
    """Redirect to the page of the form, with the choice in a cookie if it is valid."""
    if (chosen := request.POST.get(name, "")) in possible:
        return remember(request, name, chosen)
    return HttpResponseRedirect(way_back(request))


def remember(request: HttpRequest, name: str, chosen: str) -> HttpResponse:
    """Redirect to the page of the form, with the choice in a cookie."""
    answer = HttpResponseRedirect(way_back(request))
    answer.set_cookie(
        name,
        chosen,
        max_age=YEAR,
        secure=settings.SESSION_COOKIE_SECURE,
        path=root(),
        httponly=True,
        samesite="Lax",
    )
    return answer


def way_back(request: HttpRequest) -> str:
    """The page that had the form, if this is a page of the console."""
    url = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(url, allowed_hosts={request.get_host()})
    return url if is_ours else root()
