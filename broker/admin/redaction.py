"""Redaction rules: what is masked in messages."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from broker.models import RedactionRule
from broker.security.redaction import targets

WHO = gettext_lazy(
    "What a rule masks is masked for everybody, in pages, files, the API and the"
    " command line, wherever a message is copied to. Who has the authority unmask may"
    " look, for a reason that stands in the audit. Consumers get what was sent."
)


class RedactionForm(forms.ModelForm):
    class Meta:
        model = RedactionRule
        fields = "__all__"  # noqa: DJ007  the admin's fieldsets name them

    def clean(self) -> dict[str, Any]:
        """Refuse a target that cannot be parsed."""
        cleaned: dict[str, Any] = super().clean() or {}
        kind, target = cleaned.get("kind"), cleaned.get("target")
        if kind and target:
            try:
                targets.read(kind, target)
            except ValueError as error:
                self.add_error("target", str(error))
        return cleaned


@admin.register(RedactionRule)
class RedactionAdmin(admin.ModelAdmin):
    form = RedactionForm
    list_display = ["name", "queues", "kind", "target", "is_active", "revision"]
    list_filter = ["kind", "is_active"]
    search_fields = ["name", "queues", "target"]
    fieldsets = [
        (None, {"description": WHO, "fields": ["name", "queues", "is_active"]}),
        (gettext_lazy("What is masked"), {"fields": ["kind", "target"]}),
    ]

    def save_model(
        self, request: HttpRequest, obj: RedactionRule, form: Any, change: Any
    ) -> None:
        """Save only what has changed, as each save makes a new revision."""
        if form.has_changed():
            super().save_model(request, obj, form, change)
