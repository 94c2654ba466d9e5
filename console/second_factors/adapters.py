"""What django-allauth asks a project: which of its flows there are, and how secrets of
second factors are kept."""

from __future__ import annotations

import base64
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.urls import reverse
from django.utils.crypto import salted_hmac

SALT = "console.second_factors"
SAID = {  # by what django-allauth would say it with
    "mfa/messages/totp_activated.txt": "The authenticator app is set up.",
    "mfa/messages/totp_deactivated.txt": "The authenticator app is removed.",
    "mfa/messages/webauthn_added.txt": "The security key is added.",
    "mfa/messages/webauthn_removed.txt": "The security key is removed.",
}


class AccountAdapter(DefaultAccountAdapter):
    """A password, and then a second factor; no accounts by mail or from elsewhere."""

    def get_login_stages(self) -> list[str]:
        return ["allauth.mfa.stages.AuthenticateStage"]

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def reauthenticate(self, user: AbstractBaseUser, password: str) -> bool:
        """As at the sign-in: what is wrong is counted, and in the audit."""
        name = user.get_username()
        known = authenticate(context.request, username=name, password=password)
        return known is not None and known.pk == user.pk

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        *_: Any,
        **__: Any,
    ) -> None:
        if words := SAID.get(message_template or ""):
            messages.success(request, words)

    def get_reauthentication_methods(
        self, user: AbstractBaseUser | AnonymousUser
    ) -> list[dict[str, Any]]:
        """By the password, which everybody has."""
        return [{"description": "", "url": reverse("account_reauthenticate")}]


class FactorAdapter(DefaultMFAAdapter):
    """What an authenticator app shows, and what the database keeps."""

    def get_totp_issuer(self) -> str:
        """As the app lists it: a console of one environment is not that of another."""
        return f"Backout {settings.ENVIRONMENT}"

    def encrypt(self, text: str) -> str:
        return box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """
        Raises:
            InvalidToken: it was encrypted with another ``SECRET_KEY``.
        """
        return box().decrypt(encrypted_text.encode()).decode()


def box() -> MultiFernet:
    """What the secrets are locked in; it opens with keys of before, too."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = (salted_hmac(SALT, "", one, algorithm="sha256").digest() for one in keys)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(one)) for one in digests])
