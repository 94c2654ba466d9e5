"""The change of one's own password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import authenticate
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.urls import reverse_lazy


class CountedPasswordChangeForm(PasswordChangeForm):
    """Checks the old password as a sign-in does: failures are counted and audited."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        old: str = self.cleaned_data["old_password"]
        name = self.user.get_username()
        known = authenticate(self.request, username=name, password=old)
        if known is None or known.pk != self.user.pk:
            raise ValidationError(
                self.error_messages["password_incorrect"], code="password_incorrect"
            )
        return old


class CountedPasswordChangeView(PasswordChangeView):
    form_class = CountedPasswordChangeForm
    template_name = "console/accounts/password_change_form.html"
    success_url = reverse_lazy("console:password_change_done")

    def get_form_kwargs(self) -> dict[str, Any]:
        return super().get_form_kwargs() | {"request": self.request}
