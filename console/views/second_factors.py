"""The second factor: asked for after the password, and set up under Preferences.

Each page is one of django-allauth, in the console's frame, and one transaction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from allauth.account.views import ReauthenticateView
from allauth.mfa.base.views import AuthenticateView, IndexView
from allauth.mfa.recovery_codes.views import (
    GenerateRecoveryCodesView,
    ViewRecoveryCodesView,
)
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import (
    AddWebAuthnView,
    EditWebAuthnView,
    RemoveWebAuthnView,
)
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.db import transaction
from django.forms import Form
from django.http import HttpResponse, HttpResponseBase
from django.urls import path, reverse_lazy
from django.utils.crypto import constant_time_compare
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from broker import audit
from broker.models import Act
from console import second_factors
from console.second_factors import codes, gate
from console.second_factors.forms import (
    AgainForm,
    CodeForm,
    KeyForm,
    KeyNameForm,
    NewKeyForm,
)
from console.sign_ins import SignInForm, account

HASH = "hash"  # key: of the password, which has to be the same still


class SignInView(LoginView):
    """The password; whoever has a second factor is nobody until it is given, too."""

    authentication_form = SignInForm

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user, url = form.get_user(), self.get_success_url()
        if self.request.user.is_authenticated:
            logout(self.request)
        record_authentication(self.request, user, "password", reauthenticated=True)
        state = {HASH: user.get_session_auth_hash()}
        login = Login(user=user, redirect_url=url, state=state)
        answer: HttpResponse = perform_login(self.request, login)
        return answer


class CodeView(AuthenticateView):
    """What comes after the password: a code, or a security key."""

    form_class = CodeForm
    webauthn_form_class = KeyForm

    def form_valid(self, form: Form) -> HttpResponse:
        login = self.stage.login
        password = login.user.get_session_auth_hash()
        is_same = constant_time_compare(login.state.get(HASH, ""), password)
        if not is_same or not login.user.is_active:
            aborted: HttpResponse = self.stage.abort()
            return aborted
        answer: HttpResponse = super().form_valid(form)
        used = getattr(form, "authenticator", None)
        if used is not None and used.type == second_factors.Type.RECOVERY_CODES:
            used.refresh_from_db()
            left = len(used.wrap().get_unused_codes())
            audit.record(Act.USE_CODE, account(login.user), detail={"left": left})
            words = f"That recovery code is used up; {left} are left."
            messages.warning(self.request, words)
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super().get_context_data(**kwargs)
        keys = found["js_data"]["request_options"]["publicKey"]
        return found | {"has_key": bool(keys.get("allowCredentials"))}


class FactorsView(IndexView):
    """What somebody has set up."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super().get_context_data(**kwargs)
        user = self.request.user
        more = {
            "is_waiting": gate.is_waiting(self.request),
            "must": second_factors.must_have_one(user),
            "has_one": second_factors.has_one(user),
        }
        return found | more


class AppView(ActivateTOTPView):
    """An authenticator app is set up; the code that shows it is used up by that."""

    def form_valid(self, form: Form) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        codes.begin(self.request.user, form.cleaned_data["code"])
        return answer


METHODS = require_http_methods(["GET", "HEAD", "POST"])


def page(
    view: type[View], template: str, **how: Any
) -> Callable[..., HttpResponseBase]:
    """A page of which browsers keep nothing, and which changes all or nothing."""
    made = view.as_view(template_name=f"console/second_factor/{template}.html", **how)
    return METHODS(never_cache(transaction.atomic(made)))


INDEX = reverse_lazy("mfa_index")
sign_in = [
    path("login/", SignInView.as_view(), name="account_login"),
    path("login/code/", page(CodeView, "code"), name="mfa_authenticate"),
    path(
        "password/again/",
        page(ReauthenticateView, "again", form_class=AgainForm),
        name="account_reauthenticate",
    ),
]
own = [
    path("", page(FactorsView, "factors"), name="mfa_index"),
    path("app/", page(AppView, "app"), name="mfa_activate_totp"),
    path(
        "app/remove/",
        page(DeactivateTOTPView, "remove_app", success_url=INDEX),
        name="mfa_deactivate_totp",
    ),
    path(
        "codes/", page(ViewRecoveryCodesView, "codes"), name="mfa_view_recovery_codes"
    ),
    path(
        "codes/new/",
        page(GenerateRecoveryCodesView, "new_codes"),
        name="mfa_generate_recovery_codes",
    ),
    path(
        "keys/add/",
        page(AddWebAuthnView, "add_key", form_class=NewKeyForm),
        name="mfa_add_webauthn",
    ),
    path(
        "keys/<int:pk>/name/",
        page(EditWebAuthnView, "name_key", form_class=KeyNameForm, success_url=INDEX),
        name="mfa_edit_webauthn",
    ),
    path(
        "keys/<int:pk>/remove/",
        page(RemoveWebAuthnView, "remove_key", success_url=INDEX),
        name="mfa_remove_webauthn",
    ),
]
