"""Sign-in of clients that have a password and nothing else; for AMQP clients."""

from __future__ import annotations

from typing import Any

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from broker.security.users import User
from console import second_factors
from console.accounts import sign_in_limits
from console.accounts.sign_in_audit import LONGEST


class PasswordAlone(ModelBackend):
    """For clients that cannot ask for a code: users without a second factor.

    The right password of another user is refused, and does not count as a failure.
    """

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        host: str = "",
        **more: Any,
    ) -> User | None:
        request = sign_in_limits.of_client(host)
        # cut to the length that is stored
        tried = (username or "").replace("\0", "")[:LONGEST]
        if not AxesProxyHandler.is_allowed(request, {"username": tried}):
            return None
        user = super().authenticate(request, username, password, **more)
        if user is None:
            sign_in_limits.count(request, tried)
            return None
        if second_factors.has_one(user) or second_factors.must_have_one(user):
            raise PermissionDenied
        return user
