"""An id of each request, in its log lines and in the header ``X-Request-ID``."""

from __future__ import annotations

import re
from collections.abc import Callable
from uuid import uuid4

from django.http import HttpRequest, HttpResponse

from broker.monitoring import logs

HEADER = "X-Request-ID"
GIVEN = re.compile(r"[\w.:-]{1,64}", re.ASCII)


class RequestIdMiddleware:
    """Takes the id that a proxy or client gave, if it is a short plain word."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get(HEADER, "")
        request_id = given if GIVEN.fullmatch(given) else uuid4().hex
        # The id stays in the log context: Django logs a refusal after all middleware.
        logs.begin(request_id=request_id)
        response = self.get_response(request)
        response.headers[HEADER] = request_id
        return response
