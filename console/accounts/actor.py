"""The actor of a request, for the audit: the signed-in user or the credential."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from broker.models import Credential
from broker.security.audit import Actor, acting


class ActingMiddleware:
    """Records everything that a request does under its actor."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with acting(lambda: actor_of(request)):
            return self.get_response(request)


def actor_of(request: HttpRequest) -> Actor:
    source = request.META.get("REMOTE_ADDR", "")
    proof = getattr(request, "auth", None)  # a credential, in a request of the API
    if isinstance(proof, Credential):
        return Actor.of(proof, source)
    return Actor.of(request.user, source)
