"""WhiteNoise with responses in one piece.

WhiteNoise returns an open file. Under ASGI, Django reads that to its end before sending
and warns about it. These files are small, so they are read at once.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        body = b""
        # there is no file for HEAD requests and unchanged files
        if found.file is not None:
            with found.file:
                body = found.file.read()
        answer = HttpResponse(body, status=int(found.status))
        del answer["Content-Type"]
        for name, value in found.headers:
            answer[name] = value
        return answer
