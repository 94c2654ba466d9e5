"""Renders pages in the language of the user; REST is English."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from console.runtime.prefix import root
from dashboards.live import languages


class LanguageMiddleware:
    """Renders pages in the language of the user."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        accepted = request.headers.get("Accept-Language", "")
        language = languages.chosen(request.COOKIES, accepted)
        is_english = request.path.startswith(f"{root()}api/")
        with translation.override(languages.ENGLISH if is_english else language):
            answer = self.get_response(request)
            answer.headers.setdefault("Content-Language", translation.get_language())
        if not is_english:
            patch_vary_headers(answer, ["Accept-Language", "Cookie"])
        return answer
