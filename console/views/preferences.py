"""What people set for themselves, kept in their browser."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from console.frame import THEMES

YEAR = timedelta(days=365)


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Remember the theme, so that the server renders the right one first."""
    answer = HttpResponseRedirect(way_back(request))
    if (chosen := request.POST.get("theme")) in THEMES:
        answer.set_cookie(
            "theme",
            chosen,
            max_age=YEAR,
            secure=settings.HTTPS,
            httponly=True,
            samesite="Lax",
        )
    return answer


def way_back(request: HttpRequest) -> str:
    """The page that the form was on, if it is one of ours."""
    url = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(url, allowed_hosts={request.get_host()})
    return url if is_ours else "/"
