"""Who may do what on which queues."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin

from broker.authorities import FIELDS
from broker.models import Authority


class AuthorityForm(forms.ModelForm):
    """Grants to one user or to one group."""

    class Meta:
        model = Authority
        fields = "__all__"  # noqa: DJ007  the admin's fieldsets name them

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not ("user" in self.errors or "group" in self.errors):
            chosen = [one for one in ("user", "group") if cleaned.get(one)]
            if len(chosen) != 1:
                self.add_error("user", "Choose a user or a group: one of them.")
        return cleaned


@admin.register(Authority)
class AuthorityAdmin(admin.ModelAdmin):
    form = AuthorityForm
    list_display = ["pattern", "user", "group", "granted"]
    list_filter = ["group"]
    list_select_related = ["user", "group"]
    search_fields = ["pattern", "user__username", "group__name"]
    autocomplete_fields = ["user", "group"]
    fieldsets = [
        (
            None,
            {
                "description": "All that is granted to a user and to the user’s groups"
                " counts; nothing takes away. Superusers may all.",
                "fields": ["user", "group", "pattern"],
            },
        ),
        (
            "On these queues they may",
            {
                "description": "inquire: see the queue, its counts and attributes;"
                " browse: read bodies; unmask: see, for a reason, what"
                " redaction rules mask; get: take messages; put: send; passall: send"
                " what somebody else sent, as it was; set: pause and resume.",
                "fields": list(FIELDS.values()),
            },
        ),
    ]

    @admin.display(description="may")
    def granted(self, authority: Authority) -> str:
        words = [word for word, field in FIELDS.items() if getattr(authority, field)]
        return ", ".join(words) or "nothing"
