"""Recurring messages: what is put, where, and when."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy

from broker.errors.queues import NotAuthorized
from broker.models import RecurringMessage
from broker.security import authorities

WHEN = gettext_lazy(
    "A crontab line in a time zone, or an interval. Times that pass while no"
    " housekeeping runs are met by one message. A change is planned from now on."
)


class RecurringForm(forms.ModelForm):
    class Meta:
        model = RecurringMessage
        fields = "__all__"  # noqa: DJ007  the admin's fieldsets name them
        widgets = {"body": forms.Textarea(attrs={"rows": 8})}

    user: Any = None  # the user who fills in the form

    def clean_address(self) -> str:
        """Check that the author may put to the address now, as the broker will put the
        message later."""
        address: str = self.cleaned_data["address"]
        try:
            authorities.require(self.user, "put", address)
        except NotAuthorized as refusal:
            raise forms.ValidationError(str(refusal)) from None
        return address


@admin.register(RecurringMessage)
class RecurringAdmin(admin.ModelAdmin):
    form = RecurringForm
    list_display = ["name", "address", "recurs", "is_enabled", "last_at", "next_at"]
    list_filter = ["is_enabled"]
    search_fields = ["name", "address"]
    fieldsets = [
        (None, {"fields": ["name", "is_enabled"]}),
        (
            gettext_lazy("Message"),
            {
                "fields": [
                    *("address", "body", "content_type"),
                    *("subject", "properties", "priority"),
                ]
            },
        ),
        (
            gettext_lazy("When"),
            {"description": WHEN, "fields": ["crontab", "time_zone", "every_s"]},
        ),
    ]

    @admin.display(description=gettext_lazy("Recurs"))
    def recurs(self, one: RecurringMessage) -> str:
        return one.words

    def get_form(
        self,
        request: HttpRequest,
        obj: Any = None,
        change: bool = False,  # noqa: FBT001, FBT002
        **kwargs: Any,
    ) -> type[forms.ModelForm]:
        made = super().get_form(request, obj, change, **kwargs)
        return type(made.__name__, (made,), {"user": request.user})
