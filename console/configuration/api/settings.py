"""Address settings as one document: import and export."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from broker.config import imports
from broker.config.imports import FORMATS, ImportPreview
from broker.models import AddressSetting
from console.edges.rest import warned
from console.edges.rest.differences import Difference
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.requests import RequestBody
from console.edges.rest.warned import Warned

router = Router(tags=["settings"])

VIEW, ADD, CHANGE_, DELETE = (
    f"broker.{deed}_addresssetting" for deed in ("view", "add", "change", "delete")
)


class SettingsDocument(RequestBody):
    """A settings document, as exported, or the broker.xml of an Artemis."""

    document: str = Field(max_length=2**20, pattern=NO_NUL)
    # replace also removes patterns that the document lacks
    mode: Literal["merge", "replace"] = "merge"
    apply: bool = False  # false: only report the changes
    # the token of the preview that the user has confirmed; if the changes differ by
    # now, nothing is applied
    token: str | None = Field(default=None, max_length=64)


class ExportedSettings(Schema):
    """A document that can be imported again."""

    format: Literal["json", "xml"]
    document: str


class SettingChange(Schema):
    """The change of the setting of one pattern."""

    match: str
    deed: str  # added, changed, removed, unchanged
    differences: list[Difference]


class ImportedSettings(Warned):
    """The changes that a document makes, or made."""

    applied: bool
    changes: list[SettingChange]
    token: str  # equal for equal changes of equal settings


class ExportFormat(Schema):
    """The format."""

    format: Literal["json", "xml"] = "json"


@router.get(
    "/settings-document",
    response={200: ExportedSettings, **REFUSED},
    summary="The address settings as a document",
)
def export_settings(
    request: HttpRequest, wanted: Query[ExportFormat]
) -> dict[str, Any]:
    """All settings as JSON, which can be imported again, or as XML for an Artemis'
    broker.xml.
    """
    require(request, VIEW)
    text = FORMATS[wanted.format](AddressSetting.objects.all())
    return {"format": wanted.format, "document": text}


@router.post(
    "/settings-document",
    response={200: ImportedSettings, **REFUSED},
    summary="Import address settings",
)
def import_settings(request: HttpRequest, sent: SettingsDocument) -> dict[str, Any]:
    """Reports what would change; with ``apply``, makes all changes or none."""
    for permission in (ADD, CHANGE_, DELETE):
        require(request, permission)
    document = imports.read(sent.document)
    if not sent.apply:
        found = imports.preview(document, sent.mode)
        return changes_document(request, found, applied=False)
    found = imports.apply(document, sent.mode, token=sent.token)
    return changes_document(request, found, applied=True)


def changes_document(
    request: HttpRequest, found: ImportPreview, *, applied: bool
) -> dict[str, Any]:
    return {
        "applied": applied,
        "changes": found.changes,
        "token": found.token,
        "warnings": warned.visible_warnings(request, found.warnings),
    }
