"""The form of a new credential, for the page and the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils import timezone

from broker.models import Credential
from broker.security.users import NAME, USERS, User
from console.accounts.granting import may_manage

FLAGS = ("may_get", "may_browse", "may_put")

VIEW = "broker.view_credential"
ADD = "broker.add_credential"
REVOKE = "broker.change_credential"
PEOPLE = ("user", "created_by", "revoked_by")


class CredentialForm(forms.ModelForm):
    """The properties of a new credential."""

    user = forms.ModelChoiceField(
        USERS.filter(is_active=True).order_by(NAME),
        empty_label="Choose a user",
        help_text="The user whose authorities it has. It never has more.",
    )
    expires_at = forms.DateTimeField(
        label="Expires",
        required=False,
        widget=forms.DateTimeInput(
            attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"
        ),
        help_text="In the time zone of the clock above. Empty: it is valid until it"
        " is revoked.",
    )

    class Meta:
        model = Credential
        fields = [
            *("name", "user", "patterns"),
            *FLAGS,
            "expires_at",
        ]
        widgets = {"patterns": forms.Textarea(attrs={"rows": 3})}
        help_texts = {
            "patterns": "The queues and addresses that it may use, one per line."
            " Words are separated by dots: * matches one word, # at the end any number."
            " Example: orders.# matches orders and orders.eu.new."
        }

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.by = by
        self.initial["user"] = by.pk

    def clean_user(self) -> User:
        user: User = self.cleaned_data["user"]
        if not may_manage(self.by, user):
            raise ValidationError(
                "This user has permissions that you lack. Ask a superuser to create the"
                " credential."
            )
        return user

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if Credential.objects.filter(name=name).exists():
            raise ValidationError(
                "There is a credential of this name, maybe a revoked one. Choose"
                " another."
            )
        return name

    def clean_expires_at(self) -> datetime | None:
        at: datetime | None = self.cleaned_data["expires_at"]
        if at is not None and at <= timezone.now():
            raise ValidationError("That is in the past.")
        return at

    def clean_patterns(self) -> str:
        """One pattern per line, whatever line ends the browser sends."""
        patterns: str = self.cleaned_data["patterns"]
        return "\n".join(patterns.split())

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        if not any(said.get(one) for one in FLAGS):
            raise ValidationError("Choose at least one of get, browse and put.")
        return said
