"""django-allauth's adapters: enabled flows, and encryption of secrets."""

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
from django.utils.translation import gettext, gettext_noop

SALT = "console.second_factors"
SAID = {  # messages shown for templates of django-allauth
    "mfa/messages/totp_activated.txt": gettext_noop("The authenticator app is set up."),
    "mfa/messages/totp_deactivated.txt": gettext_noop(
        "The authenticator app is removed."
    ),
    "mfa/messages/webauthn_added.txt": gettext_noop("The security key is added."),
    "mfa/messages/webauthn_removed.txt": gettext_noop("The security key is removed."),
}


class AccountAdapter(DefaultAccountAdapter):
    """Password first, then a second factor; no e-mail or social accounts."""

    def get_login_stages(self) -> list[str]:
        return ["console.second_factors.stages.CodeStage"]

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def reauthenticate(self, user: AbstractBaseUser, password: str) -> bool:
        """Check the password as at sign-in: failures are counted and audited."""
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
            messages.success(request, gettext(words))

    def get_reauthentication_methods(
        self, user: AbstractBaseUser | AnonymousUser
    ) -> list[dict[str, Any]]:
        """The only method is the password. Who has none signs in again."""
        return [{"description": "", "url": reverse("account_reauthenticate")}]


class FactorAdapter(DefaultMFAAdapter):
    """The issuer shown in authenticator apps, and encryption in the database."""

    def get_totp_issuer(self) -> str:
        """The name in the app; consoles of different environments differ."""
        known: Any = settings
        return f"Backout {known.BACKOUT_ENVIRONMENT}"

    def encrypt(self, text: str) -> str:
        return box().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """
        Raises:
            InvalidToken: the text was encrypted with another ``SECRET_KEY``.
        """
        return box().decrypt(encrypted_text.encode()).decode()


def box() -> MultiFernet:
    """The encryption of secrets; it also decrypts with earlier keys."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    digests = (salted_hmac(SALT, "", one, algorithm="sha256").digest() for one in keys)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(one)) for one in digests])
