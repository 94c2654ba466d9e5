"""The web sockets of the console, for the ``asgi.py`` of a project."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.urls import get_script_prefix, path

from console.accounts.private_answers import SameOriginSockets
from console.runtime.prefix import root
from dashboards import routing


class with_sockets:  # noqa: N801  -- it is called as a function is
    """An ASGI application with the console's sockets; all else goes to the project's.

    They are below the prefix of ``console.urls``::

        application = with_sockets(get_asgi_application())
    """

    def __init__(self, application: Any) -> None:
        self.application = application

    @cached_property
    def prefix(self) -> str:
        """The path of the console in the project, without a slash at its beginning."""
        return root().removeprefix(get_script_prefix())

    @cached_property
    def sockets(self) -> Any:
        below = URLRouter(routing.urlpatterns)
        router = URLRouter([path(self.prefix, below)])
        return SameOriginSockets(AuthMiddlewareStack(router))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            asked = scope["path"].removeprefix(scope.get("root_path", ""))
            if asked.startswith(f"/{self.prefix}ws/"):
                await self.sockets(scope, receive, send)
                return
        await self.application(scope, receive, send)
