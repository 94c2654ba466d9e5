"""Addresses and address settings."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet

from broker.admin.fieldsets import folded
from broker.admin.names import NamedForm
from broker.admin.quantities import write_quantity
from broker.admin.settings_import import ExchangingAdmin
from broker.config.address_settings import ATTRIBUTES, Group, in_group
from broker.formats.wildcards import configured
from broker.models import Address, AddressSetting

NOWHERE = {  # by text field, the checkbox that defines it as empty
    name: f"no_{name}"
    for name, one in ATTRIBUTES.items()
    if isinstance(one.default, str)
}
# The fields that the form shows first; the other fields are in folded groups.
FIRST = ("max_delivery_attempts", "dead_letter_address", "redelivery_delay_ms")
MORE = {
    Group.POISON: "The policy says who moves a message away that cannot be processed."
    " The broker counts by max delivery attempts; consumers, by the backout threshold"
    " of the queue.",
    Group.DEAD_LETTERS: "Auto-created queues for dead letters: one for each address"
    " that messages come from.",
    Group.ARRIVAL: "When what arrives expires: the first of these that is defined"
    " decides, and min and max together.",
}
NOT_DEFINED = ("unknown", "not defined here")  # the third value of a yes-or-no field


def tick(label: str, help_text: str) -> forms.BooleanField:
    return forms.BooleanField(required=False, label=label, help_text=help_text)


def with_tick(name: str) -> str | tuple[str, str]:
    return (name, NOWHERE[name]) if name in NOWHERE else name


def fields_of(group: Group) -> list[str | tuple[str, str]]:
    return [with_tick(name) for name in in_group(group) if name not in FIRST]


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
        """Number of queues of the address. Without one, its messages are lost."""
        return address.fed  # type: ignore[attr-defined,no-any-return]


def how_to_match() -> str:
    """The syntax of patterns of address settings, as this broker is configured."""
    syntax = configured()
    literal = f" {'…'.join(syntax.markers)} means its own text." * bool(syntax.markers)
    return (
        f"Words separated by {syntax.delimiter} – {syntax.single_word} matches one"
        f" word, {syntax.any_words} at the end matches any number of words.{literal}"
    )


class AddressSettingForm(forms.ModelForm):
    """Distinguishes a text that is not defined from one that is defined as empty."""

    no_dead_letter_address = tick(
        "No dead letter address",
        "Poison messages are discarded, whatever other settings say.",
    )
    no_expiry_address = tick(
        "No expiry address",
        "Expired messages are discarded, whatever other settings say.",
    )
    no_dead_letter_queue_prefix = tick(
        "No prefix", "Their names begin with the address, whatever other settings say."
    )
    no_dead_letter_queue_suffix = tick(
        "No suffix", "Their names end with the address, whatever other settings say."
    )
    no_expiry_queue_prefix = tick(
        "No prefix", "Their names begin with the address, whatever other settings say."
    )
    no_expiry_queue_suffix = tick(
        "No suffix", "Their names end with the address, whatever other settings say."
    )

    class Meta:
        model = AddressSetting
        fields = "__all__"  # noqa: DJ007  the admin's fieldsets name them

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field, none in NOWHERE.items():
            self.initial[none] = getattr(self.instance, field) == ""
        if "match" in self.fields:  # not if the user may only view the setting
            self.fields["match"].help_text = how_to_match()
        for one in self.fields.values():
            if isinstance(one.widget, forms.NullBooleanSelect):
                one.widget.choices = [NOT_DEFINED, ("true", "yes"), ("false", "no")]

    def clean(self) -> dict[str, Any]:
        """Store an empty text if its checkbox is ticked: an empty text is a definition,
        too."""
        cleaned: dict[str, Any] = super().clean() or {}
        for field, none in NOWHERE.items():
            if not cleaned.get(none):
                continue
            if cleaned.get(field):
                what = "Name an address" if "address" in field else "Give a text"
                self.add_error(field, f"{what}, or say that there is none.")
            cleaned[field] = ""
        return cleaned


@admin.register(AddressSetting)
class AddressSettingAdmin(ExchangingAdmin):
    form = AddressSettingForm
    list_display = [
        "match",
        "poison_policy",
        "max_delivery_attempts",
        "poison_goes_to",
        "redelivered_after",
        "expired_goes_to",
    ]
    search_fields = ["match"]
    fieldsets = [
        (
            None,
            {
                "description": "What is left empty is decided by a less specific"
                " setting, or in the end by the broker's defaults.",
                "fields": ["match", *map(with_tick, FIRST)],
            },
        ),
        *(folded(group, fields_of(group), MORE.get(group, "")) for group in Group),
    ]

    @admin.display(
        description="redelivery delay",
        ordering="redelivery_delay_ms",
        empty_value="not defined here",
    )
    def redelivered_after(self, setting: AddressSetting) -> str | None:
        delay = setting.redelivery_delay_ms
        return (
            "none"
            if delay == 0
            else write_quantity("redelivery_delay_ms", delay) or None
        )

    @admin.display(description="dead letter address", empty_value="not defined here")
    def poison_goes_to(self, setting: AddressSetting) -> str | None:
        to = setting.dead_letter_address
        return "none" if to == "" else to

    @admin.display(description="expiry address", empty_value="not defined here")
    def expired_goes_to(self, setting: AddressSetting) -> str | None:
        to = setting.expiry_address
        return "none" if to == "" else to
