"""Addresses and address settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db.models import Count, QuerySet
from django.utils.translation import gettext, gettext_lazy

from broker.admin.fieldsets import folded
from broker.admin.names import NamedForm
from broker.admin.quantities import write_quantity
from broker.admin.settings_import import ExchangingAdmin
from broker.config.address_settings import ATTRIBUTES, Group, in_group
from broker.formats.wildcards import configured
from broker.models import Address, AddressSetting

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

NOWHERE = {  # by text field, the checkbox that defines it as empty
    name: f"no_{name}"
    for name, one in ATTRIBUTES.items()
    if isinstance(one.default, str)
}
# The fields that the form shows first; the other fields are in folded groups.
FIRST = ("max_delivery_attempts", "dead_letter_address", "redelivery_delay_ms")
MORE = {
    Group.POISON: gettext_lazy(
        "The policy says who moves a message away that cannot be processed."
        " The broker counts by max delivery attempts; consumers, by the backout"
        " threshold of the queue."
    ),
    Group.DEAD_LETTERS: gettext_lazy(
        "Auto-created queues for dead letters: one for each address"
        " that messages come from."
    ),
    Group.ARRIVAL: gettext_lazy(
        "When what arrives expires: the first of these that is defined"
        " decides, and min and max together."
    ),
}
NOT_DEFINED = (
    "unknown",
    gettext_lazy("not defined here"),
)  # the third value of a yes-or-no field


def tick(label: _StrPromise, help_text: _StrPromise) -> forms.BooleanField:
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
            gettext_lazy("Subscriptions"),
            {
                "description": gettext_lazy(
                    "A subscription gets a queue of its own, cloned from a"
                    " model queue. Changing the model changes no queue that exists."
                ),
                "fields": ["durable_model", "nondurable_model"],
            },
        ),
    ]

    def get_queryset(self, *request: Any) -> QuerySet[Address]:
        every: QuerySet[Address] = super().get_queryset(*request)
        return every.annotate(fed=Count("queues"))

    @admin.display(description=gettext_lazy("queues"), ordering="fed")
    def fed_queues(self, address: Address) -> int:
        """Number of queues of the address. Without one, its messages are lost."""
        return address.fed  # type: ignore[attr-defined,no-any-return]


def how_to_match() -> str:
    """The syntax of patterns of address settings, as this broker is configured."""
    syntax = configured()
    told = gettext(
        "Words separated by %(delimiter)s – %(one)s matches one word, %(any)s at the"
        " end matches any number of words."
    ) % {
        "delimiter": syntax.delimiter,
        "one": syntax.single_word,
        "any": syntax.any_words,
    }
    if not syntax.markers:
        return told
    literal = gettext("%(text)s means its own text.")
    return f"{told} {literal % {'text': '…'.join(syntax.markers)}}"


class AddressSettingForm(forms.ModelForm):
    """Distinguishes a text that is not defined from one that is defined as empty."""

    no_dead_letter_address = tick(
        gettext_lazy("No dead letter address"),
        gettext_lazy("Poison messages are discarded, whatever other settings say."),
    )
    no_expiry_address = tick(
        gettext_lazy("No expiry address"),
        gettext_lazy("Expired messages are discarded, whatever other settings say."),
    )
    no_dead_letter_queue_prefix = tick(
        gettext_lazy("No prefix"),
        gettext_lazy(
            "Their names begin with the address, whatever other settings say."
        ),
    )
    no_dead_letter_queue_suffix = tick(
        gettext_lazy("No suffix"),
        gettext_lazy("Their names end with the address, whatever other settings say."),
    )
    no_expiry_queue_prefix = tick(
        gettext_lazy("No prefix"),
        gettext_lazy(
            "Their names begin with the address, whatever other settings say."
        ),
    )
    no_expiry_queue_suffix = tick(
        gettext_lazy("No suffix"),
        gettext_lazy("Their names end with the address, whatever other settings say."),
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
                one.widget.choices = [
                    NOT_DEFINED,
                    ("true", gettext("yes")),
                    ("false", gettext("no")),
                ]

    def clean(self) -> dict[str, Any]:
        """Store an empty text if its checkbox is ticked: an empty text is a definition,
        too."""
        cleaned: dict[str, Any] = super().clean() or {}
        for field, none in NOWHERE.items():
            if not cleaned.get(none):
                continue
            if cleaned.get(field):
                is_address = "address" in field
                why = (
                    gettext("Name an address, or say that there is none.")
                    if is_address
                    else gettext("Give a text, or say that there is none.")
                )
                self.add_error(field, why)
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
                "description": gettext_lazy(
                    "What is left empty is decided by a less specific"
                    " setting, or in the end by the broker's defaults."
                ),
                "fields": ["match", *map(with_tick, FIRST)],
            },
        ),
        *(
            folded(gettext_lazy(group.value), fields_of(group), MORE.get(group, ""))
            for group in Group
        ),
    ]

    @admin.display(
        description=gettext_lazy("redelivery delay"),
        ordering="redelivery_delay_ms",
    )
    def redelivered_after(self, setting: AddressSetting) -> str:
        delay = setting.redelivery_delay_ms
        if delay == 0:
            return gettext("none")
        told = write_quantity("redelivery_delay_ms", delay)
        return told or gettext("not defined here")

    @admin.display(description=gettext_lazy("dead letter address"))
    def poison_goes_to(self, setting: AddressSetting) -> str:
        return goes_to(setting.dead_letter_address)

    @admin.display(description=gettext_lazy("expiry address"))
    def expired_goes_to(self, setting: AddressSetting) -> str:
        return goes_to(setting.expiry_address)


def goes_to(address: str | None) -> str:
    """Where messages go, in a list of settings."""
    if address is None:
        return gettext("not defined here")
    return address or gettext("none")
