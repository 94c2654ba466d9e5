"""django-allauth's OpenID Connect for the provider of the settings.

It adds to the code flow with PKCE and state: a nonce, derived from the state, that the
ID token must have; the signature of every ID token; and the subject, which must be the
same in both sources of claims. Neither tokens nor claims are stored.

Source:
    OpenID Connect Core 1.0, 3.1.3.7 (ID token validation), 5.3.2 (UserInfo).
"""

from __future__ import annotations

from typing import Any

from allauth.socialaccount.internal import jwtkit
from allauth.socialaccount.models import SocialApp, SocialLogin, SocialToken
from allauth.socialaccount.providers.oauth2.client import OAuth2Client, OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import (
    OpenIDConnectProvider,
)
from allauth.socialaccount.providers.openid_connect.views import (
    OpenIDConnectOAuth2Adapter,
)
from django.core.cache import cache
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac

SALT = "console.single_sign_on.nonce"
FOUND_S = 300  # how long a discovery document is kept
CALLBACK = "single_sign_on_callback"  # name of the URL


def nonce_of(state: str) -> str:
    return salted_hmac(SALT, state, algorithm="sha256").hexdigest()


class Client(OAuth2Client):
    """Sends the nonce."""

    def get_redirect_url(
        self, authorization_url: str, scope: Any, extra_params: dict[str, Any]
    ) -> str:
        more = extra_params | {"nonce": nonce_of(str(self.state))}
        url: str = super().get_redirect_url(authorization_url, scope, more)
        return url


class Adapter(OpenIDConnectOAuth2Adapter):
    """The protocol with the provider."""

    client_class = Client

    @property
    def openid_config(self) -> dict[str, Any]:
        """The discovery document; anonymous visitors do not fetch it each time."""
        url = self.get_provider().server_url
        found: dict[str, Any] | None = cache.get(f"{SALT}.{url}")
        if found is None:
            found = super().openid_config
            cache.set(f"{SALT}.{url}", found, FOUND_S)
        return found

    def get_callback_url(self, request: HttpRequest, app: SocialApp) -> str:
        return request.build_absolute_uri(reverse(CALLBACK))

    def complete_login(
        self, request: HttpRequest, app: SocialApp, token: SocialToken, **kwargs: Any
    ) -> SocialLogin:
        """The claims, from the ID token and from the provider's own page of the user.

        Raises:
            OAuth2Error: a check failed.
        """
        text = kwargs["response"].get("id_token")
        if not text:
            raise OAuth2Error("The provider sent no ID token.")
        claims = self._decode_id_token(app, text)
        nonce = str(claims.get("nonce", ""))
        if not constant_time_compare(nonce, nonce_of(request.GET["state"])):
            raise OAuth2Error("The ID token belongs to another sign-in (nonce).")
        if "userinfo_endpoint" in self.openid_config:
            more = self._fetch_user_info(token.token)
            if more.get("sub") != claims["sub"]:
                raise OAuth2Error("The provider told about another user (sub).")
            claims = more | claims
        found: SocialLogin = self.get_provider().sociallogin_from_response(
            request, claims
        )
        return found

    def _decode_id_token(self, app: SocialApp, id_token: str) -> dict[str, Any]:
        """Like the original, but the signature is verified in any case."""
        config = self.openid_config
        found: dict[str, Any] = jwtkit.verify_and_decode(
            credential=id_token,
            keys_url=config["jwks_uri"],
            issuer=config["issuer"],
            audience=app.client_id,
            lookup_kid=jwtkit.lookup_kid_jwk,
        )
        return found


class SignOnProvider(OpenIDConnectProvider):
    """The provider; ``claims`` of a login are not stored."""

    oauth2_adapter_class = Adapter
    pkce_enabled_default = True

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        return {}

    def extract_email_addresses(self, data: dict[str, Any]) -> list[Any]:
        return []

    def extract_common_fields(self, data: dict[str, Any]) -> dict[str, Any]:
        return {}

    def sociallogin_from_response(
        self, request: HttpRequest, response: dict[str, Any]
    ) -> SocialLogin:
        login = super().sociallogin_from_response(request, response)
        login.claims = response
        return login
