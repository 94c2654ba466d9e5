"""The web process: pages and the API over HTTP, live numbers over sockets."""

from __future__ import annotations

import os

import django
from asgiref.sync import sync_to_async
from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
os.environ.setdefault("DATABASE_POOL", "1")


class Pages(ASGIHandler):
    """Django, where neither views nor middleware are asynchronous: a request goes
    through all of them in one thread, and does not change threads between them."""

    def load_middleware(self, is_async: bool = False) -> None:  # noqa: FBT001, FBT002
        super().load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        answer: HttpResponseBase = await sync_to_async(self.get_response)(request)
        return answer


django.setup(set_prefix=False)
pages = Pages()  # before what needs the applications to be loaded

from dashboards import routing  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AllowedHostsOriginValidator(
            AuthMiddlewareStack(URLRouter(routing.urlpatterns))
        ),
    }
)
