"""Headers that keep answers with message data out of caches and out of other tabs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import AllowedHostsOriginValidator, WebsocketDenier
from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse

from console.accounts import sign_in

POLICY = "Content-Security-Policy"


class PolicyMiddleware:
    """The Content-Security-Policy: nothing but the console's own files, and no frame.

    A view may give its answer another policy. Django's pages for developers have none.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response
        self.policy = policy(settings.STATIC_URL or "")

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not (settings.DEBUG and response.status_code in (404, 500)):
            response.headers.setdefault(POLICY, self.policy)
        return response


def policy(static_url: str) -> str:
    """The directives; static files may be on a host of their own."""
    address = urlsplit(static_url)
    host = f" {address.scheme}://{address.netloc}" if address.netloc else ""
    return (
        f"default-src 'self'{host}; object-src 'none'; base-uri 'none';"
        f" frame-ancestors 'none'; img-src 'self'{host} data:"
    )


class PrivateMiddleware:
    """No cache stores an answer of a view, if the view does not allow it itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class SignOutView(LogoutView):
    """Sign out; the browser deletes what it has cached of the console."""

    def get_default_redirect_url(self) -> str:
        return super().get_default_redirect_url() if self.next_page else sign_in.url()

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response: HttpResponse = super().post(request, *args, **kwargs)
        response.headers["Clear-Site-Data"] = '"cache"'
        return response


class SameOriginSockets:
    """Opens a WebSocket only for a page of the console itself: the same host and port.

    A page of another port on the same machine is another program's. As for forms,
    ``CSRF_TRUSTED_ORIGINS`` names other origins that are trusted.
    """

    def __init__(self, application: Any) -> None:
        self.application = AllowedHostsOriginValidator(application)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope["headers"])
        origin = headers.get(b"origin", b"").decode("latin1").lower()
        host = headers.get(b"host", b"").decode("latin1").lower()
        is_same = bool(host) and urlsplit(origin).netloc == host
        if is_same or origin in settings.CSRF_TRUSTED_ORIGINS:
            await self.application(scope, receive, send)
        else:
            await WebsocketDenier()(scope, receive, send)
