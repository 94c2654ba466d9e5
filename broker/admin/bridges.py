"""Bridges: connection factories, destinations, dead message queues and links."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, gettext_lazy

from broker.admin.advising import AdvisingAdmin
from broker.admin.bridges_import import ExchangingBridgesAdmin
from broker.admin.fieldsets import folded
from broker.bridges import secrets
from broker.bridges.config.edits import consequences, reasons_to_keep, state_of
from broker.bridges.config.faults import Part
from broker.bridges.config.trying import try_out
from broker.bridges.config.validation import faults_of, noun
from broker.bridges.providers.registry import PROVIDERS
from broker.errors.bridges import BridgeError
from broker.models import (
    Bridge,
    BridgeDestination,
    ConnectionFactory,
    DeadMessageQueue,
    Link,
)
from broker.models.bridge_names import AS_SOURCE

NAMES = gettext_lazy(
    "Names in JNDI and descriptions are kept for documents of Open MQ."
)
FROM_THE_NEXT_START = gettext_lazy(
    "What is changed of a link that runs holds from its next start."
)


class PartForm(forms.ModelForm):
    """Refuses invalid parts of a bridge, with the messages of the import."""

    def clean_properties(self) -> dict[str, str]:
        return self.cleaned_data["properties"] or {}

    def _post_clean(self) -> None:
        """Validate the whole instance, after its fields are valid."""
        super()._post_clean()  # type: ignore[misc]
        if self.errors:
            return
        for one in faults_of(self.instance):
            self.add_error(
                one.field if one.field in self.fields else None, one.sentence
            )
        if not self.errors:
            for sentence in consequences(self.instance):
                self.add_error(None, sentence)


class FactoryForm(PartForm):
    provider = forms.ChoiceField(
        choices=[
            ("", "---------"),
            *((key, gettext_lazy(one.label)) for key, one in PROVIDERS.items()),
        ]
    )
    password = forms.CharField(
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=gettext_lazy(
            "It is kept encrypted and never shown. Empty: it stays as it is."
        ),
    )
    no_password = forms.BooleanField(
        required=False,
        label=gettext_lazy("No password"),
        help_text=gettext_lazy("The one that is stored is taken away."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        password = cleaned.get("password", "")
        if cleaned.get("no_password"):
            if password:
                self.add_error("password", gettext("Give a password, or take it away."))
            self.instance.secret = ""
        elif password:
            self.instance.secret = secrets.encrypt(password)
        return cleaned


class PartAdmin(AdvisingAdmin):
    form = PartForm

    def get_deleted_objects(
        self, objs: Iterable[Part], request: HttpRequest
    ) -> tuple[Any, Any, Any, list[str]]:
        """Refuse to delete parts that are in use, and links that are not stopped."""
        chosen = list(objs)
        found, counts, missing, kept = super().get_deleted_objects(chosen, request)
        why = [f"{noun(one)}: {why}" for one in chosen for why in reasons_to_keep(one)]
        return found, counts, missing, [*kept, *why]


@admin.register(Bridge)
class BridgeAdmin(ExchangingBridgesAdmin, PartAdmin):
    list_display = ["name", "description", "link_count", "tag_messages"]
    search_fields = ["name", "description"]
    fields = ["name", "description", "tag_messages", "log_transfers"]

    def get_queryset(self, *request: Any) -> QuerySet[Bridge]:
        every: QuerySet[Bridge] = super().get_queryset(*request)
        return every.annotate(of_links=Count("links"))

    @admin.display(description=gettext_lazy("links"), ordering="of_links")
    def link_count(self, bridge: Bridge) -> int:
        return bridge.of_links  # type: ignore[attr-defined,no-any-return]


@admin.register(ConnectionFactory)
class ConnectionFactoryAdmin(PartAdmin):
    form = FactoryForm
    list_display = ["name", "bridge", "provider", "url", "username", "has_password"]
    list_filter = ["bridge", "provider"]
    list_select_related = ["bridge"]
    search_fields = ["name", "url"]
    actions = ["try_connection"]
    fieldsets = [
        (None, {"fields": ["bridge", "name", "description"]}),
        (gettext_lazy("Provider"), {"fields": ["provider", "url", "properties"]}),
        (gettext_lazy("Login"), {"fields": ["username", "password", "no_password"]}),
        folded(
            gettext_lazy("Connections"),
            ["connect_attempts", "connect_interval_s", "idle_timeout_s"],
        ),
        folded("Open MQ", ["lookup_name", "multi_rm"], NAMES),
    ]

    @admin.display(description=gettext_lazy("password"))
    def has_password(self, factory: ConnectionFactory) -> str:
        return gettext("stored") if factory.secret else gettext("none")

    @admin.action(
        description=gettext_lazy("Try the connection"), permissions=["change"]
    )
    def try_connection(
        self, request: HttpRequest, queryset: QuerySet[ConnectionFactory]
    ) -> None:
        """Connect and disconnect; show the result."""
        for factory in queryset.select_related("bridge"):
            try:
                messages.success(request, try_out(factory))
            except BridgeError as error:
                messages.error(request, str(error))


@admin.register(BridgeDestination)
class BridgeDestinationAdmin(PartAdmin):
    list_display = ["ref_name", "bridge", "kind", "name"]
    list_filter = ["bridge", "kind"]
    list_select_related = ["bridge"]
    search_fields = ["ref_name", "name"]
    fieldsets = [
        (None, {"fields": ["bridge", "ref_name", "description"]}),
        (gettext_lazy("At its provider"), {"fields": ["kind", "name"]}),
        folded("Open MQ", ["lookup_name", "properties"], NAMES),
    ]


@admin.register(DeadMessageQueue)
class DeadMessageQueueAdmin(PartAdmin):
    list_display = ["name", "bridge", "position", "enabled", "factory", "destination"]
    list_filter = ["bridge", "enabled"]
    list_select_related = ["bridge", "factory__bridge", "destination__bridge"]
    search_fields = ["name"]
    fieldsets = [
        (
            None,
            {
                "description": gettext_lazy(
                    "The built-in one is always the first; these come after"
                    " it, until one takes the message."
                ),
                "fields": ["bridge", "name", "description", "position", "enabled"],
            },
        ),
        (
            gettext_lazy("Where it is"),
            {"fields": ["factory", "destination", "client_id", "stay_connected"]},
        ),
        folded(
            gettext_lazy("How it is sent"),
            ["time_to_live_ms", "send_attempts", "send_interval_s"],
        ),
        folded(gettext_lazy("Transformer"), ["transformer", "properties"]),
    ]


@admin.register(Link)
class LinkAdmin(PartAdmin):
    list_display = [
        *("name", "bridge", "enabled", "transacted", "state", "from_where", "to_where")
    ]
    list_filter = ["bridge", "enabled", "transacted"]
    list_select_related = [
        *("bridge", "status", "source_factory", "source", "target_factory", "target")
    ]
    search_fields = ["name", "bridge__name"]
    fieldsets = [
        (
            None,
            {
                "description": FROM_THE_NEXT_START,
                "fields": ["bridge", "name", "description", "enabled", "transacted"],
            },
        ),
        (
            gettext_lazy("From and to"),
            {
                "fields": [
                    ("source_factory", "source"),
                    ("target_factory", "target"),
                    "selector",
                ]
            },
        ),
        folded(
            gettext_lazy("More of the source"),
            ["source_description", "durable_name", "source_client_id"],
        ),
        folded(
            gettext_lazy("More of the target"),
            [
                *("target_description", "stay_connected", "target_client_id"),
                "retain_reply_to",
            ],
        ),
        folded(
            gettext_lazy("Transformer"),
            [
                *("transformer", "properties", "transformer_time_limit_s"),
                *("transform_failure", "consume_on_transform_error"),
            ],
        ),
        folded(
            gettext_lazy("Transfer"),
            [
                "batch",
                "on_send_failure",
                "duplicate_detection",
                "loop_guard",
            ],
        ),
    ]

    @admin.display(description=gettext_lazy("state"))
    def state(self, link: Link) -> str:
        return str(state_of(link).label)

    @admin.display(description=gettext_lazy("source"))
    def from_where(self, link: Link) -> str:
        return f"{link.source_factory.name}: {link.source.kind}:{link.source.name}"

    @admin.display(description=gettext_lazy("target"))
    def to_where(self, link: Link) -> str:
        to = link.target
        where = AS_SOURCE if to is None else f"{to.kind}:{to.name}"
        return f"{link.target_factory.name}: {where}"
