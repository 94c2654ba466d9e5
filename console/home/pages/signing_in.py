"""The second factor: required after the password, and set up under Preferences.

Each page is one of django-allauth, in the console's frame, and one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.internal.flows.reauthentication import (
    raise_if_reauthentication_required,
)
from allauth.account.models import Login
from allauth.account.views import ReauthenticateView
from allauth.mfa.base.views import AuthenticateView, IndexView
from allauth.mfa.models import Authenticator
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
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import URLPattern, URLResolver, include, path, reverse_lazy
from django.utils.crypto import constant_time_compare
from django.utils.translation import ngettext
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from broker.models import Act
from broker.security import audit
from console import second_factors, single_sign_on
from console.accounts.sign_in_audit import SignInForm, account
from console.second_factors import codes, gate
from console.second_factors.forms import (
    AgainForm,
    CodeForm,
    KeyForm,
    KeyNameForm,
    NewKeyForm,
)
from console.second_factors.stages import HASH
from console.single_sign_on import views as sign_on

SHOWN = "_codes_shown"  # session key: recovery codes to show once on the next page


class SignInView(LoginView):
    """The password step of a sign-in. A user with a second factor is signed in only
    after the second step.
    """

    template_name = "console/accounts/login.html"
    authentication_form = SignInForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if single_sign_on.is_only():
            raise PermissionDenied("Passwords of this console are switched off.")
        answer: HttpResponse = super().post(request, *args, **kwargs)
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super().get_context_data(**kwargs)
        return found | {"sign_on": single_sign_on.provider()}

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user, url = form.get_user(), self.get_success_url()
        if self.request.user.is_authenticated:
            logout(self.request)
        self.request.session.cycle_key()  # against session fixation
        record_authentication(self.request, user, "password", reauthenticated=True)
        state = {HASH: user.get_session_auth_hash()}
        login = Login(user=user, redirect_url=url, state=state)
        answer: HttpResponse = perform_login(self.request, login)
        return answer


class CodeView(AuthenticateView):
    """The step after the password: a code, or a security key."""

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
            words = ngettext(
                "That recovery code is used up; %(left)s are left.",
                "That recovery code is used up; %(left)s are left.",
                left,
            )
            messages.warning(self.request, words % {"left": left})
        return answer

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super().get_context_data(**kwargs)
        asked = found["js_data"]["request_options"]
        has_key = bool(asked["publicKey"].get("allowCredentials"))
        return found | {"has_key": has_key, "asked": json.dumps(asked)}


class FactorsView(IndexView):
    """The second factors of the user."""

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
    """Set up an authenticator app; the code that confirms it cannot be used again."""

    def form_valid(self, form: Form) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        codes.begin(self.request.user, form.cleaned_data["code"])
        return answer


class KeyView(AddWebAuthnView):
    """Add a security key."""

    form_class = NewKeyForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super().get_context_data(**kwargs)
        return found | {"asked": json.dumps(found["js_data"]["creation_options"])}


class CodesView(ViewRecoveryCodesView):
    """New recovery codes are shown once; later only the number that is left."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        found: dict[str, Any] = super().get_context_data(**kwargs)
        self.request.session[SHOWN] = found["can_view_codes"]
        return found


@require_safe
@never_cache
def download(request: HttpRequest) -> HttpResponse:
    """The recovery codes of the previous page as a file, once."""
    raise_if_reauthentication_required(request, app="allauth.mfa")
    if not request.session.pop(SHOWN, False):
        raise Http404
    kind = second_factors.Type.RECOVERY_CODES
    row = get_object_or_404(Authenticator, user=request.user, type=kind)
    text = "".join(f"{code}\n" for code in row.wrap().get_unused_codes())
    name = "backout-recovery-codes.txt"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/plain", headers=headers)


METHODS = require_http_methods(["GET", "HEAD", "POST"])


def page(
    view: type[View], template: str, **how: Any
) -> Callable[..., HttpResponseBase]:
    """A view that is never cached, and runs in one transaction."""
    made = view.as_view(template_name=f"console/second_factors/{template}.html", **how)
    return METHODS(never_cache(transaction.atomic(made)))


INDEX = reverse_lazy("mfa_index")
sign_in: list[URLPattern | URLResolver] = [
    path("login/", SignInView.as_view(), name="account_login"),
    path("single-sign-on/", include(sign_on.urlpatterns)),
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
    path("codes/", page(CodesView, "codes"), name="mfa_view_recovery_codes"),
    path("codes/file/", download, name="mfa_download_recovery_codes"),
    path(
        "codes/new/",
        page(GenerateRecoveryCodesView, "new_codes"),
        name="mfa_generate_recovery_codes",
    ),
    path("keys/add/", page(KeyView, "add_key"), name="mfa_add_webauthn"),
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
