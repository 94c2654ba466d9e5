"""Pages to export and import address settings as documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.translation import gettext, gettext_lazy, gettext_noop

from broker.admin.advising import AdvisingAdmin
from broker.config import documents, imports
from broker.config.imports import Mode, SettingChange
from broker.errors import BrokerError
from broker.errors.settings import SettingsChanged
from broker.models import AddressSetting

TYPES = {"json": "application/json", "xml": "application/xml"}
MODES = [
    (
        "merge",
        gettext_lazy(
            "Merge: take over what the document defines, leave all else as it is"
        ),
    ),
    ("replace", gettext_lazy("Replace: remove what the document does not have")),
]

# What an import does to an object; the values of ``Deed``.
DEEDS = (
    gettext_noop("added"),
    gettext_noop("changed"),
    gettext_noop("removed"),
    gettext_noop("unchanged"),
)


@dataclass(frozen=True, slots=True)
class ChangedField:
    """One field of a change, as texts."""

    field: str
    before: str
    after: str


class ImportForm(forms.Form):
    """A document to import, and the mode."""

    file = forms.FileField(
        required=False,
        label=gettext_lazy("File"),
        help_text=gettext_lazy(
            "JSON as exported here, or XML: address-settings of Artemis, alone or"
            " in a whole broker.xml. At most 1 MiB."
        ),
    )
    text = forms.CharField(
        required=False,
        label=gettext_lazy("Or its text"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
    )
    mode = forms.ChoiceField(choices=MODES, initial="merge", label=gettext_lazy("Mode"))
    token = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """Read the document, so that its faults are shown at the form."""
        cleaned: dict[str, Any] = super().clean() or {}
        file, text = cleaned.get("file"), cleaned.get("text")
        if bool(file) == bool(text):
            raise ValidationError(
                gettext("Choose a file or paste its text: one of them.")
            )
        raw = file.read(documents.LARGEST_BYTES + 1) if file else text or ""
        try:
            cleaned["document"] = self.read(raw)
        except BrokerError as error:
            raise ValidationError(
                gettext("Nothing was imported. %(why)s") % {"why": error}
            ) from None
        return cleaned

    def read(self, raw: str | bytes) -> Any:
        """Read the document; raise a ``BrokerError`` if it is invalid."""
        return imports.read(raw)


class ExchangingAdmin(AdvisingAdmin):
    """The pages that export and import address settings. The console has links to
    them, and their templates."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view
        name = "broker_addresssetting"
        return [
            path("export/", view(self.export_view), name=f"{name}_export"),
            path("import/", view(self.import_view), name=f"{name}_import"),
            *super().get_urls(),
        ]

    def may_import(self, request: HttpRequest) -> bool:
        return self.has_add_permission(request) and self.has_change_permission(request)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {"may_import": self.may_import(request), **(extra_context or {})}
        return super().changelist_view(request, context)

    def export_view(self, request: HttpRequest) -> HttpResponse:
        """Export all address settings as a file."""
        form = request.GET.get("format", "json")
        if not self.has_view_permission(request) or form not in TYPES:
            raise PermissionDenied
        text = imports.FORMATS[form](AddressSetting.objects.all())
        name = f'attachment; filename="address-settings.{form}"'
        answer = HttpResponse(text, content_type=f"{TYPES[form]}; charset=utf-8")
        answer["Content-Disposition"] = name
        return answer

    def import_view(self, request: HttpRequest) -> HttpResponse:
        """Show a form; then the preview of its document; then apply it."""
        if not self.may_import(request):
            raise PermissionDenied
        posted = request.method == "POST"
        form = ImportForm(request.POST, request.FILES) if posted else ImportForm()
        context: dict[str, Any] = {"form": form}
        if posted and form.is_valid():
            document, mode = form.cleaned_data["document"], form.cleaned_data["mode"]
            if mode == "replace" and not self.has_delete_permission(request):
                raise PermissionDenied
            if "apply" in request.POST:
                token = form.cleaned_data["token"]
                try:
                    self.take_over(request, document, mode, token)
                    return HttpResponseRedirect(page("changelist"))
                except SettingsChanged as error:
                    messages.error(request, str(error))
            context |= preview_context(document, mode)
        return TemplateResponse(
            request,
            "admin/broker/addresssetting/import.html",
            {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "title": gettext("Import address settings"),
                **context,
            },
        )

    def take_over(
        self,
        request: HttpRequest,
        document: documents.Document,
        mode: Mode,
        token: str,
    ) -> None:
        """Apply a document as a whole, with audit records.

        Raises:
            SettingsChanged: the settings are no longer those of the preview.
        """
        done = imports.apply(document, mode, token=token)
        for one in done.warnings:
            messages.warning(request, str(one))
        counts = [(deed, count) for deed, count in done.counts.items() if count]
        words = write_counts(counts) or gettext("nothing to do")
        told = gettext("Imported: %(counts)s.") % {"counts": words}
        messages.success(request, told)


def preview_context(document: documents.Document, mode: Mode) -> dict[str, Any]:
    """The context of a preview page; it includes the document for the next request."""
    preview = imports.preview(document, mode)
    text = documents.write(document.settings)
    return {
        "preview": preview,
        "changes": [
            (one, list(rows(one))) for one in preview.changes if one.deed != "unchanged"
        ],
        "unchanged": len(preview.of("unchanged")),
        "again": ImportForm(
            initial={"text": text, "mode": mode, "token": preview.token}
        ),
    }


def rows(change: SettingChange) -> Iterator[ChangedField]:
    for one in change.differences:
        title = AddressSetting._meta.get_field(one.field).verbose_name  # type: ignore[union-attr]
        yield ChangedField(str(title), write_value(one.before), write_value(one.after))


def write_value(value: Any) -> str:
    """A field's value as text."""
    if value is None:
        return gettext("not defined")
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return str(value) if value != "" else gettext("none")


def write_counts(counts: Iterable[tuple[str, int]]) -> str:
    """How many objects an import added, changed and so on, as text."""
    return ", ".join(f"{count} {gettext(deed)}" for deed, count in counts)


def page(what: str) -> str:
    return reverse(f"admin:broker_addresssetting_{what}")
