"""The time zone in which pages show times; UTC unless a cookie names another.

The cookie holds the name of the zone. Pages and forms use it. The admin, the API, logs
and the database always use UTC.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from console.runtime.prefix import root

COOKIE = "zone"
IN_UTC = ("admin/", "api/")  # paths below the root whose times are in UTC
DEFAULT = "UTC"


class ZoneMiddleware:
    """Renders pages in the time zone of the user."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(tuple(f"{root()}{one}" for one in IN_UTC)):
            zone: tzinfo = UTC
        else:
            zone = zone_of(request)
        with timezone.override(zone):
            return self.get_response(request)


def zone_of(request: HttpRequest) -> tzinfo:
    """The zone named by the cookie; UTC if there is none or it is unknown."""
    chosen = request.COOKIES.get(COOKIE, "")
    return ZoneInfo(chosen) if chosen in names() and chosen != DEFAULT else UTC


@cache
def names() -> frozenset[str]:
    """All zones that can be chosen."""
    return frozenset({*available_timezones(), DEFAULT})
