"""The form of a new credential."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy, pgettext_lazy

from broker.acts.credentials import create_credential
from broker.security.users import NAME, USERS, User
from console.edges.web.forms import form_of


class CredentialForm(form_of(create_credential)):  # type: ignore[misc]  # made
    """The name, the user, and what the credential may do."""

    owner = forms.ModelChoiceField(
        USERS.filter(is_active=True).order_by(NAME),
        label=gettext_lazy("User"),
        to_field_name=NAME,
        empty_label=gettext_lazy("Choose a user"),
        help_text=gettext_lazy("The user whose authorities it has. It never has more."),
    )
    patterns = forms.CharField(
        label=gettext_lazy("Patterns"),
        initial="#",
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy(
            "The queues and addresses that it may use, one per line. Words are"
            " separated by dots: * matches one word, # at the end any number. Example:"
            " orders.# matches orders and orders.eu.new."
        ),
    )
    may_get = forms.BooleanField(
        label=gettext_lazy("Get"), required=False, initial=True
    )
    may_browse = forms.BooleanField(
        label=gettext_lazy("Browse"), required=False, initial=True
    )
    may_put = forms.BooleanField(
        label=pgettext_lazy("verb", "Put"), required=False, initial=True
    )
    expires_at = forms.DateTimeField(
        label=gettext_lazy("Expires"),
        required=False,
        widget=forms.DateTimeInput(
            attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"
        ),
        help_text=gettext_lazy(
            "In the time zone of the clock above. Empty: it is valid until it is"
            " revoked."
        ),
    )

    def __init__(self, *args: Any, by: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["owner"] = by.get_username()

    def clean_owner(self) -> str:
        owner: User = self.cleaned_data["owner"]
        return owner.get_username()

    def clean_patterns(self) -> list[str]:
        patterns: str = self.cleaned_data["patterns"]
        return patterns.split()
