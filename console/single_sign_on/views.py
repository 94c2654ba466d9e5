"""The two pages of a sign-in through the provider: to it, and back from it."""

from __future__ import annotations

import logging
from typing import Any

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from allauth.account.utils import get_next_redirect_url
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base.constants import AuthProcess
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.urls import path
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from broker.models import Act
from broker.security import audit
from broker.security.audit import Thing
from console import single_sign_on
from console.accounts.sign_in_audit import ACCOUNT
from console.second_factors.stages import HASH, VOUCHED
from console.single_sign_on import backends, members
from console.single_sign_on.protocol import CALLBACK, Adapter

logger = logging.getLogger(__name__)

AWAY = gettext_noop(
    "%(provider)s does not answer as it should. Try again later, or tell an"
    " administrator."
)
BROKEN = gettext_noop(
    "The sign-in at %(provider)s was not completed here: it took too long, was"
    " cancelled, or did not begin in this browser. Begin again."
)
# Errors if the provider's document does not follow the protocol, or does not arrive.
# The errors of ``requests`` are subclasses of OSError.
UNFIT = (OSError, KeyError, TypeError, ValueError)


@login_not_required
@require_POST
@never_cache
def start(request: HttpRequest) -> HttpResponse:
    """Go to the provider."""
    known()
    provider = get_adapter().get_provider(request)
    try:
        answer: HttpResponse = provider.redirect(
            request, AuthProcess.LOGIN, next_url=get_next_redirect_url(request)
        )
    except UNFIT as error:
        return away(request, error)
    return answer


@login_not_required
@require_safe
@never_cache
def callback(request: HttpRequest) -> HttpResponse:
    """Come back from the provider, and be signed in or refused."""
    known()
    view = OAuth2CallbackView.adapter_view(Adapter(request, ""))
    try:
        answer: HttpResponse = view(request)
    except UNFIT as error:
        return away(request, error)
    return answer


def known() -> single_sign_on.Provider:
    found = single_sign_on.provider()
    if found is None:
        raise Http404("There is no provider.")
    return found


def admit(request: HttpRequest, login: SocialLogin) -> HttpResponse:
    """Go on as after a password: end another session, ask for a second factor."""
    provider = known()
    try:
        user = members.admitted(login, provider)
    except members.Refused as refusal:
        return refused(request, str(refusal), login)
    if request.user.is_authenticated:
        logout(request)
    request.session.cycle_key()  # against session fixation
    record_authentication(request, user, "socialaccount", reauthenticated=True)
    if provider.second_factor:
        user.backend = backends.VOUCHED
    state = {HASH: user.get_session_auth_hash(), VOUCHED: provider.second_factor}
    url = login.state.get("next") or resolve_url(settings.LOGIN_REDIRECT_URL)
    answer: HttpResponse = perform_login(
        request, Login(user=user, redirect_url=url, state=state)
    )
    return answer


def failed(request: HttpRequest, error: Exception | None) -> HttpResponse:
    """What the protocol refused; the details are for the log."""
    if isinstance(error, OSError):
        return away(request, error)
    logger.warning("A sign-in through the provider failed: %s", str(error)[:300])
    named = {"provider": known().name}
    return refused(request, BROKEN % named, shown=gettext(BROKEN) % named)


def away(request: HttpRequest, error: Exception) -> HttpResponse:
    logger.warning("The provider does not answer: %r", error)
    words = gettext(AWAY) % {"provider": known().name}
    return render_refusal(request, words, status=502)


def refused(
    request: HttpRequest,
    words: str,
    login: SocialLogin | None = None,
    *,
    shown: str = "",
) -> HttpResponse:
    """Tell why, and record it. The names of strangers are not recorded.

    Args:
        words: why, in English, for the audit.
        shown: the same in the language of the page, where it is translated.
    """
    user: Any = login.user if login is not None and login.is_existing else None
    thing = Thing(ACCOUNT, user.pk, user.get_username()) if user else Thing(ACCOUNT)
    audit.refuse(Act.SIGN_IN, thing, reason=words)
    return render_refusal(request, shown or words, status=403)


def render_refusal(request: HttpRequest, words: str, *, status: int) -> HttpResponse:
    template = "console/accounts/sign_on_refused.html"
    return render(request, template, {"words": words}, status=status)


urlpatterns = [
    path("", start, name="single_sign_on"),
    path("back/", callback, name=CALLBACK),
]
