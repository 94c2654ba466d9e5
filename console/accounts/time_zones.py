"""The time zone in which a person reads times: UTC, unless their browser has another.

It is kept in a cookie, by its name. Pages and forms use it; the admin, the API, logs
and the database are in UTC always.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

COOKIE = "zone"
IN_UTC = ("/admin/", "/api/")
DEFAULT = "UTC"


class ZoneMiddleware:
    """Renders pages in the zone of whoever asks."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(IN_UTC):
            return self.get_response(request)
        with timezone.override(zone_of(request)):
            return self.get_response(request)


def zone_of(request: HttpRequest) -> tzinfo:
    """The chosen zone; UTC where none is chosen, or none of that name is known."""
    chosen = request.COOKIES.get(COOKIE, "")
    return ZoneInfo(chosen) if chosen in names() and chosen != DEFAULT else UTC


@cache
def names() -> frozenset[str]:
    """All that one may choose."""
    return frozenset({*available_timezones(), DEFAULT})
