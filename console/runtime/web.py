"""The web process of a project that ``backout run --web`` starts.

It serves the project's own ASGI application; with ``DEBUG``, static files, too.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import django
from django.conf import settings
from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler


def of_project() -> Any:
    """The application that ``ASGI_APPLICATION`` names, or ``asgi.py``."""
    beside = f"{settings.ROOT_URLCONF.rpartition('.')[0]}.asgi.application"
    named = getattr(settings, "ASGI_APPLICATION", None) or beside
    module, _, name = named.rpartition(".")
    return getattr(import_module(module), name)


class Development:
    """Static files straight from the applications, for HTTP alone."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self.files = ASGIStaticFilesHandler(application)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_http = scope["type"] == "http"
        await (self.files if is_http else self.application)(scope, receive, send)


django.setup(set_prefix=False)
application = Development(of_project()) if settings.DEBUG else of_project()
