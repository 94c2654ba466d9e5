"""Enforces required second factors: users without one are not authenticated.

Their session is anonymous for pages, the API and sockets alike, except on the few pages
where a second factor is set up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth import (
    BACKEND_SESSION_KEY,
    HASH_SESSION_KEY,
    SESSION_KEY,
)
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare
from django_htmx.http import HttpResponseClientRedirect

from broker.security.users import USERS, User
from console import second_factors

WAITING = "_waits_for_second_factor"  # attribute of a request
SET_UP = "mfa_index"  # the page that explains the second factor
OPEN = {
    *(SET_UP, "mfa_activate_totp", "mfa_add_webauthn"),
    *("account_reauthenticate", "console:logout"),
}
# django-allauth's sign-in page, which would ask for the factor again
SIGN_IN = "account_login"


class PasswordBackend(ModelBackend):
    """Passwords and sessions; none for users who lack a required second factor."""

    def get_user(self, user_id: Any) -> Any:
        user = super().get_user(user_id)
        return None if user is None or second_factors.lacks_one(user) else user


class SecondFactorMiddleware:
    """Redirects users who lack a second factor to the page that sets it up."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Any, args: Any, kwargs: Any
    ) -> HttpResponse | None:
        match = request.resolver_match
        name = match.view_name if match else ""
        asks = getattr(view, "login_required", True) or name == SIGN_IN
        if not asks or (user := waiting(request)) is None:
            return None
        if name in OPEN:
            request.user = user
            setattr(request, WAITING, True)
            return None
        if "HX-Request" in request.headers:
            return HttpResponseClientRedirect(reverse(SET_UP))
        return redirect(SET_UP)


def is_waiting(request: HttpRequest) -> bool:
    """Whether a request is admitted only to set up a second factor."""
    return getattr(request, WAITING, False)


def waiting(request: HttpRequest) -> User | None:
    """The user of a session that still lacks a required second factor."""
    session = request.session
    if request.user.is_authenticated or SESSION_KEY not in session:
        return None
    user = USERS.filter(pk=session[SESSION_KEY], is_active=True).first()
    if user is None or not second_factors.lacks_one(user):
        return None
    of_password = constant_time_compare(
        session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()
    )
    backend = f"{PasswordBackend.__module__}.{PasswordBackend.__qualname__}"
    is_ours = session.get(BACKEND_SESSION_KEY) == backend
    return user if of_password and is_ours else None
