"""What django-allauth asks of the console in a sign-in through the provider."""

from __future__ import annotations

from typing import Any, NoReturn

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialApp, SocialLogin
from django.http import HttpRequest

from console import single_sign_on
from console.single_sign_on import views
from console.single_sign_on.protocol import SignOnProvider


class SignOnAdapter(DefaultSocialAccountAdapter):
    """The one provider, and what happens once it has answered."""

    def list_apps(
        self, request: HttpRequest, provider: Any = None, client_id: Any = None
    ) -> list[SocialApp]:
        found = single_sign_on.provider()
        if found is None:
            return []
        # Accounts are stored with the issuer, because another issuer may have the same
        # subjects.
        issuer = found.issuer.rstrip("/")
        return [
            SocialApp(
                provider=SignOnProvider.id,
                provider_id=issuer,
                name=found.name,
                client_id=found.client_id,
                secret=found.client_secret,
                settings={"server_url": issuer, "scope": found.scope},
            )
        ]

    def get_provider(
        self, request: HttpRequest, provider: Any = None, client_id: Any = None
    ) -> SignOnProvider:
        return SignOnProvider(request, app=self.get_app(request, provider))

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Leave allauth's flow here: the rest is that of the console."""
        raise ImmediateHttpResponse(views.admit(request, sociallogin))

    def on_authentication_error(
        self, request: HttpRequest, *_: Any, exception: Any = None, **__: Any
    ) -> NoReturn:
        raise ImmediateHttpResponse(views.failed(request, exception))
