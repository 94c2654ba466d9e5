"""django-allauth's forms for codes and security keys, with limits on input."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

from allauth.account.forms import ReauthenticateForm
from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    EditWebAuthnForm,
)
from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy

from broker.models import Act
from console.second_factors import codes, records

LONGEST = 80  # characters of the name of a key
MALFORMED = (  # errors of parsing untrusted bytes
    *(ArithmeticError, AttributeError, LookupError, RecursionError),
    *(TypeError, ValueError, struct.error),
)
Found = TypeVar("Found")


def understood(look: Callable[[], Found]) -> Found:
    """The parsed response of a security key.

    Raises:
        ValidationError: the response is not valid.
    """
    try:
        return look()
    except MALFORMED:
        raise ValidationError(gettext(codes.WRONG)) from None


class AgainForm(ReauthenticateForm):
    """The password of the signed-in user, once more."""

    password = forms.CharField(
        widget=forms.PasswordInput({"autocomplete": "current-password"})
    )


class CodeForm(AuthenticateForm):
    """A code of the authenticator app, or a recovery code."""

    def clean_code(self) -> str:
        self.authenticator = codes.tried(self.user, self.find)
        return str(self.cleaned_data["code"])

    def find(self) -> Authenticator:
        super().clean_code()
        found: Authenticator = self.authenticator
        if found.type == Authenticator.Type.TOTP:
            codes.take(found, self.cleaned_data["code"])
        return found


class KeyForm(AuthenticateWebAuthnForm):
    """The response of a security key."""

    def clean_credential(self) -> Authenticator:
        look = super().clean_credential
        return codes.tried(self.user, lambda: understood(look))


class NewKeyForm(AddWebAuthnForm):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=LONGEST)

    def clean(self) -> dict[str, Any]:
        return understood(super().clean)


class KeyNameForm(EditWebAuthnForm):
    name = forms.CharField(label=gettext_lazy("Name"), max_length=LONGEST)

    def save(self) -> Authenticator:
        named: Authenticator = super().save()
        records.note(Act.NAME_KEY, named)
        return named
