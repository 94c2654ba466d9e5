"""Where people sign in: the page of the project, or else that of the console.

The console's own page checks a name and a password by the project's
``AUTHENTICATION_BACKENDS``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.views import LoginView
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

from console.accounts.sign_in_audit import SignInForm


class SignInRequired(LoginRequiredMiddleware):
    """Every page needs a sign-in, but those that say otherwise."""

    def get_login_url(self, view_func: Callable[..., Any]) -> str:
        return getattr(view_func, "login_url", None) or url()


class SignInView(LoginView):
    """The console's own page."""

    template_name = "console/accounts/login.html"
    authentication_form = SignInForm
    next_page = "console:overview"


def url() -> str:
    """The page where people sign in."""
    return theirs(str(settings.LOGIN_URL)) or reverse("console:login")


@cache
def theirs(login_url: str) -> str:
    """The page at ``LOGIN_URL``; empty if the project has none there."""
    try:
        found = resolve_url(login_url)
    except NoReverseMatch:
        return ""
    if "://" in found:
        return found
    try:
        resolve(found.partition("?")[0])
    except Resolver404:
        return ""
    return found
