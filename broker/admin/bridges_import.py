"""Pages to export and import bridges as documents of Open MQ."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext, gettext_lazy

from broker.admin.settings_import import (
    ChangedField,
    ImportForm,
    write_counts,
    write_value,
)
from broker.bridges.config import bridge_import
from broker.bridges.config.bridge_import import Mode
from broker.bridges.config.documents import Document, stored
from broker.bridges.config.jmsbridge_writing import write
from broker.errors import BrokerError
from broker.models import Bridge

MODELS = (
    *("bridge", "connectionfactory", "bridgedestination"),
    *("deadmessagequeue", "link"),
)


class BridgeImportForm(ImportForm):
    """A document of one bridge."""

    file = forms.FileField(
        required=False,
        label=gettext_lazy("File"),
        help_text=gettext_lazy(
            "XML as exported here, or as an Open MQ has it: one <jmsbridge>. At"
            " most 1 MiB."
        ),
    )

    def read(self, raw: str | bytes) -> Any:
        return bridge_import.read(raw)


class ExchangingBridgesAdmin(admin.ModelAdmin):
    """The pages that export and import bridges."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        return [
            path("import/", view(self.import_view), name="broker_bridge_import"),
            path(
                "<int:pk>/export/", view(self.export_view), name="broker_bridge_export"
            ),
            *super().get_urls(),
        ]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {"may_import": may(request, "add", "change")}
        return super().changelist_view(request, {**context, **(extra_context or {})})

    def export_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Export a bridge as a file, without passwords."""
        if not may(request, "view"):
            raise PermissionDenied
        bridge = get_object_or_404(Bridge, pk=pk)
        text = write(stored(bridge))
        answer = HttpResponse(text, content_type="application/xml; charset=utf-8")
        answer["Content-Disposition"] = 'attachment; filename="jmsbridge.xml"'
        return answer

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Show a form; then the preview of its document; then apply it."""
        if not may(request, "add", "change"):
            raise PermissionDenied
        posted = request.method == "POST"
        chosen = (request.POST, request.FILES) if posted else ()
        form = BridgeImportForm(*chosen)
        context: dict[str, Any] = {"form": form}
        if posted and form.is_valid():
            document, mode = form.cleaned_data["document"], form.cleaned_data["mode"]
            if mode == "replace" and not may(request, "delete"):
                raise PermissionDenied
            if "apply" in request.POST:
                token = form.cleaned_data["token"]
                if self.took_over(request, document, mode, token):
                    page = f"{self.admin_site.name}:broker_bridge_changelist"
                    return HttpResponseRedirect(reverse(page))
            context |= preview_context(document, mode)
        return TemplateResponse(
            request,
            "admin/broker/bridge/import.html",
            {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "title": gettext("Import a bridge"),
                **context,
            },
        )

    def took_over(
        self, request: HttpRequest, document: Document, mode: Mode, token: str
    ) -> bool:
        """Apply a document as a whole; return False and show why if it is refused."""
        try:
            done = bridge_import.apply(document, mode, token=token)
        except BrokerError as error:
            messages.error(request, str(error))
            return False
        told = gettext("Imported %(bridge)s: %(counts)s.")
        words = {"bridge": done.bridge, "counts": write_counts(done.counts.items())}
        messages.success(request, told % words)
        for one in done.left_open:
            messages.warning(request, one.what)
        for warning in done.warnings:
            messages.warning(request, str(warning))
        return True


def may(request: HttpRequest, *deeds: str) -> bool:
    """Whether the user has these permissions for all parts of a bridge."""
    permissions = [f"broker.{deed}_{model}" for deed in deeds for model in MODELS]
    return request.user.has_perms(permissions)


def preview_context(document: Document, mode: Mode) -> dict[str, Any]:
    """The context of a preview page. It includes the document for the next request,
    with its passwords encrypted."""
    preview = bridge_import.preview(document, mode)
    text = write(document, sealed=True)
    changes = [
        (
            one,
            [
                ChangedField(
                    words(d.field), write_value(d.before), write_value(d.after)
                )
                for d in differs
            ],
        )
        for one, differs in ((one, one.differences) for one in preview.changes)
        if one.deed != "unchanged"
    ]
    return {
        "preview": preview,
        "changes": changes,
        "unchanged": len(preview.of("unchanged")),
        "again": BridgeImportForm(
            initial={"text": text, "mode": mode, "token": preview.token}
        ),
    }


def words(field: str) -> str:
    name = field.replace("_", " ")
    return gettext(name) if name else name
