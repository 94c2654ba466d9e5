"""Limits of wrong passwords: per name and address together, per name, and per address.

django-axes counts them, on pages and for AMQP clients alike. Its own limit is on a name
from one address; the other two stop guesses from many addresses, and of many names. All
end after 15 minutes without a try (``AXES_COOLOFF_TIME``).
"""

from __future__ import annotations

from typing import Any

from axes.attempts import get_cool_off_threshold
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.signals import user_login_failed
from django.core.checks import CheckMessage, Tags, register
from django.core.checks import Warning as Advice
from django.db.models import Sum
from django.http import HttpRequest
from django.utils.translation import gettext_noop

from broker.checks import BROKER
from broker.security import audit
from broker.security.audit import Actor


class SignInLimits(AxesDatabaseHandler):  # type: ignore[misc]
    def is_locked(
        self, request: HttpRequest, credentials: dict[str, Any] | None = None
    ) -> bool:
        if super().is_locked(request, credentials):
            return True
        name = get_client_username(request, credentials)
        address = request.axes_ip_address  # type: ignore[attr-defined]
        of_name, of_address = settings.BACKOUT_SIGN_IN_FAILURES
        return bool(
            failures(request, username=name) >= of_name
            or failures(request, ip_address=address) >= of_address
        )


def failures(request: HttpRequest, **whose: str) -> int:
    """Wrong passwords within the cool-off time. One query."""
    recent = AccessAttempt.objects.filter(
        attempt_time__gte=get_cool_off_threshold(request), **whose
    )
    found = recent.aggregate(sum=Sum("failures_since_start"))
    return int(found["sum"] or 0)


def of_client(host: str) -> HttpRequest:
    """A request that stands for an AMQP client; it has only the client's address."""
    request = HttpRequest()
    request.META = {"REMOTE_ADDR": host, "HTTP_USER_AGENT": "AMQP 1.0"}
    return request


def count(request: HttpRequest, name: str) -> None:
    """Count and audit a wrong password of an AMQP client."""
    nobody = Actor.of(None, request.META["REMOTE_ADDR"])
    with audit.acting(lambda: nobody):
        user_login_failed.send(
            __name__, credentials={"username": name}, request=request
        )


@register(Tags.security, BROKER)
def proxy_is_trusted(**_: Any) -> list[CheckMessage]:
    """Advise to trust the proxy. Otherwise all users have the proxy's address, and one
    limit.
    """
    # only the console's own project has this setting
    is_behind = getattr(settings, "HTTPS", False)
    if not is_behind or settings.BACKOUT_TRUSTED_PROXIES:
        return []
    return [
        Advice(
            gettext_noop(
                "HTTPS=1 says that a proxy is in front, but"
                " BACKOUT_TRUSTED_PROXIES does not name it: the limit of"
                " wrong passwords takes all users for one."
            ),
            hint=gettext_noop(
                "Set BACKOUT_TRUSTED_PROXIES to the address of the proxy, for"
                " example 127.0.0.1. Let the proxy set X-Forwarded-For, not"
                " add to it."
            ),
            id="console.W001",
        )
    ]
