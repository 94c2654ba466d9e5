"""The middleware of the console, for its own pages only.

A project has one entry in ``MIDDLEWARE``, after those of Django; requests of other
pages pass unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string

from console.runtime.prefix import is_ours

PARTS = (
    "console.layout.request_ids.RequestIdMiddleware",
    "console.accounts.languages.LanguageMiddleware",
    "console.layout.permissions_policy.PermissionsPolicyMiddleware",
    "console.accounts.private_answers.PolicyMiddleware",
    "console.accounts.private_answers.PrivateMiddleware",
    "console.accounts.sessions.SessionsMiddleware",
    "console.second_factors.gate.SecondFactorMiddleware",
    "console.accounts.actor.ActingMiddleware",
    "console.accounts.sign_in.SignInRequired",
    "django_htmx.middleware.HtmxMiddleware",
    "console.edges.web.error_responses.RefusalMiddleware",
    "console.accounts.time_zones.ZoneMiddleware",
)


class ConsoleMiddleware:
    """Calls its parts, in order, as Django would if each was in ``MIDDLEWARE``."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.inside: Any = get_response
        self.parts: list[Any] = []
        for path in reversed(PARTS):
            self.parts.insert(0, import_string(path)(self.inside))
            self.inside = convert_exception_to_response(self.parts[0])

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_ours(request):
            found: HttpResponse = self.inside(request)
            return found
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *about: Any) -> HttpResponse | None:
        """The first answer of a part, in order."""
        return self.first("process_view", self.parts, request, *about)

    def process_exception(
        self, request: HttpRequest, error: Exception
    ) -> HttpResponse | None:
        """The first answer of a part, the innermost first."""
        return self.first("process_exception", self.parts[::-1], request, error)

    def first(
        self, hook: str, parts: list[Any], request: HttpRequest, *about: Any
    ) -> HttpResponse | None:
        if not is_ours(request):
            return None
        for part in parts:
            call = getattr(part, hook, None)
            if call and (answer := call(request, *about)) is not None:
                found: HttpResponse = answer
                return found
        return None
