"""Addresses, and the policy of addresses."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet

from broker.admin.advising import AdvisingAdmin
from broker.admin.names import NamedForm
from broker.models import Address, AddressSetting

NOWHERE = {  # what is ticked where an address is defined to be none
    "dead_letter_address": "no_dead_letter_address",
    "expiry_address": "no_expiry_address",
}


@admin.register(Address)
class AddressAdmin(admin.ModelAdmin):
    form = NamedForm
    list_display = ["name", "fed_queues", "created_at"]
    search_fields = ["name"]
    ordering = ["name"]
    fieldsets = [
        (None, {"fields": ["name"]}),
        (
            "Subscriptions",
            {
                "description": "A subscription gets a queue of its own, cloned from a"
                " model queue. Changing the model changes no queue that exists.",
                "fields": ["durable_model", "nondurable_model"],
            },
        ),
    ]

    def get_queryset(self, *request: Any) -> QuerySet[Address]:
        every: QuerySet[Address] = super().get_queryset(*request)
        return every.annotate(fed=Count("queues"))

    @admin.display(description="queues", ordering="fed")
    def fed_queues(self, address: Address) -> int:
        """How many queues the address feeds; a message to none is lost."""
        return address.fed  # type: ignore[attr-defined,no-any-return]


class AddressSettingForm(forms.ModelForm):
    """Tells an address that is not defined here from one defined to be none."""

    no_dead_letter_address = forms.BooleanField(
        required=False,
        label="No dead letter address",
        help_text="Poison messages are discarded, whatever other settings say.",
    )
    no_expiry_address = forms.BooleanField(
        required=False,
        label="No expiry address",
        help_text="Expired messages are discarded, whatever other settings say.",
    )

    class Meta:
        model = AddressSetting
        fields = "__all__"  # noqa: DJ007  the admin's fieldsets name them

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field, tick in NOWHERE.items():
            self.initial[tick] = getattr(self.instance, field) == ""

    def clean(self) -> dict[str, Any]:
        """Turn a tick into an empty address, which is a definition."""
        cleaned: dict[str, Any] = super().clean() or {}
        for field, tick in NOWHERE.items():
            if not cleaned.get(tick):
                continue
            if cleaned.get(field):
                self.add_error(field, "Name an address, or say that there is none.")
            cleaned[field] = ""
        return cleaned


@admin.register(AddressSetting)
class AddressSettingAdmin(AdvisingAdmin):
    form = AddressSettingForm
    list_display = [
        "match",
        "poison_policy",
        "max_delivery_attempts",
        "poison_goes_to",
        "redelivery_delay_ms",
        "expired_goes_to",
    ]
    search_fields = ["match"]
    fieldsets = [
        (
            None,
            {
                "description": "What is left empty is decided by a less specific"
                " setting, or in the end by the broker's defaults.",
                "fields": ["match"],
            },
        ),
        (
            "Poison messages",
            {
                "description": "The policy says who moves a message away that cannot be"
                " processed. The broker counts by the fields here; consumers, by the"
                " backout threshold of the queue.",
                "fields": [
                    "poison_policy",
                    "max_delivery_attempts",
                    "dead_letter_address",
                    "no_dead_letter_address",
                ],
            },
        ),
        (
            "Redelivery",
            {
                "fields": [
                    "redelivery_delay_ms",
                    "redelivery_delay_multiplier",
                    "redelivery_collision_avoidance_factor",
                    "max_redelivery_delay_ms",
                ]
            },
        ),
        ("Expiry", {"fields": ["expiry_address", "no_expiry_address"]}),
        ("Discarded messages", {"fields": ["discard_retention_s"]}),
    ]

    @admin.display(description="dead letter address", empty_value="not defined here")
    def poison_goes_to(self, setting: AddressSetting) -> str | None:
        to = setting.dead_letter_address
        return "none" if to == "" else to

    @admin.display(description="expiry address", empty_value="not defined here")
    def expired_goes_to(self, setting: AddressSetting) -> str | None:
        to = setting.expiry_address
        return "none" if to == "" else to
