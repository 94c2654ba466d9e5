"""Authorities of users and groups."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from broker.models import Authority
from broker.security.authorities import FIELDS
from broker.security.authorities import Authority as Name
from broker.security.users import IS_DJANGOS, NAME

MEANS: dict[Name, str] = {
    "inquire": gettext_noop(
        "See that the queue is there, its depth and its attributes."
    ),
    "browse": gettext_noop("Read bodies and properties of what lies there."),
    "unmask": gettext_noop(
        "See what redaction rules mask, for a reason that is audited."
    ),
    "get": gettext_noop("Take messages; move, remove and expire them by operations."),
    "put": gettext_noop("Send there; move, copy, resubmit and restore to it."),
    "passall": gettext_noop(
        "Send what somebody else sent, as it was: what a consumer has to move."
    ),
    "set": gettext_noop(
        "Pause and resume, reset counters, close its clients, switch its rules."
    ),
}


class AuthorityForm(forms.ModelForm):
    """Grants authorities to one user or to one group."""

    class Meta:
        model = Authority
        fields = "__all__"  # noqa: DJ007  the admin's fieldsets name them
        help_texts = {FIELDS[name]: gettext_lazy(text) for name, text in MEANS.items()}

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not ("user" in self.errors or "group" in self.errors):
            chosen = [one for one in ("user", "group") if cleaned.get(one)]
            if len(chosen) != 1:
                self.add_error(
                    "user", gettext("Choose a user or a group: one of them.")
                )
        return cleaned


@admin.register(Authority)
class AuthorityAdmin(admin.ModelAdmin):
    form = AuthorityForm
    list_display = ["pattern", "user", "group", "granted"]
    list_filter = ["group"]
    list_select_related = ["user", "group"]
    search_fields = ["pattern", f"user__{NAME}", "group__name"]
    # Autocompletion needs an admin of the user model, which a project's own model may
    # lack.
    autocomplete_fields = ["user", "group"] if IS_DJANGOS else ["group"]
    raw_id_fields = [] if IS_DJANGOS else ["user"]
    fieldsets = [
        (
            None,
            {
                "description": gettext_lazy(
                    "All that is granted to a user and to the user’s groups"
                    " counts; nothing takes away. Superusers may all."
                ),
                "fields": ["user", "group", "pattern"],
            },
        ),
        (
            gettext_lazy("On these queues they may"),
            {"fields": list(FIELDS.values())},
        ),
    ]

    @admin.display(description=gettext_lazy("may"))
    def granted(self, authority: Authority) -> str:
        words = [word for word, field in FIELDS.items() if getattr(authority, field)]
        return ", ".join(words) or gettext("nothing")
