"""Answers to unexpected errors: 503 if the database is unavailable, else 500.

Pages get a page that needs no database, parts of pages a sentence, and the API problem
details. An error at the commit leaves a change in doubt, so no answer says that nothing
was changed.
"""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils.html import escape
from django.utils.translation import gettext, gettext_noop

from console.runtime.prefix import root

RETRY_AFTER_S = 5
AWAY = gettext_noop(
    "The database does not answer, or its disk is full. Try again in a few seconds. If"
    " this was a change, check first whether it was made."
)
BROKEN = gettext_noop(
    "The console met an unexpected error. The log of the web process names the error."
    " If this was a change, check whether it was made before you repeat it."
)


def failed(request: HttpRequest) -> HttpResponse:
    """Django's ``handler500``; called while the exception is handled."""
    is_away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    response = answer(request, is_away=is_away)
    if is_away:
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


def answer(request: HttpRequest, *, is_away: bool) -> HttpResponse:
    status = 503 if is_away else 500
    sentence = AWAY if is_away else BROKEN
    if request.path.startswith(f"{root()}api/"):
        content = {
            "type": "about:blank",
            "title": "The broker is unavailable" if is_away else "Unexpected error",
            "status": status,
            "code": "unavailable" if is_away else "unexpected-error",
            "detail": sentence,
        }
        kind = "application/problem+json"
        return JsonResponse(content, status=status, content_type=kind)
    if "HX-Request" in request.headers:
        return HttpResponse(escape(gettext(sentence)), status=status)
    page = loader.get_template("console/503.html" if is_away else "console/500.html")
    return HttpResponse(page.render(), status=status)
