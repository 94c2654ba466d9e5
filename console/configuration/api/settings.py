"""Address settings by pattern: read, define, remove, import and export."""

from __future__ import annotations

import re
from typing import Any, Literal

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from ninja import Path, Query, Router, Schema
from pydantic import Field, JsonValue

from broker.config import edits, imports
from broker.config.documents import defined
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
ETAG = re.compile(r'^(?:W/)?"([^"]*)"$')


class StoredSetting(Schema):
    """The setting of one pattern; other patterns decide missing fields."""

    match: str
    values: dict[str, Any]


class SavedSetting(StoredSetting, Warned):
    """The setting of one pattern, as it is now."""


class StoredSettings(Schema):
    """All settings, by their patterns."""

    settings: list[StoredSetting]


class SettingValues(RequestBody):
    """The fields to define."""

    values: dict[str, JsonValue] = Field(max_length=100)


class SettingsDocument(RequestBody):
    """A settings document, as exported, or the broker.xml of an Artemis."""

    document: str = Field(max_length=2**20, pattern=NO_NUL)
    # replace also removes patterns that the document lacks
    mode: Literal["merge", "replace"] = "merge"
    apply: bool = False  # false: only report the changes
    # the token of the report that was read
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


class SettingChanges(Warned):
    """The changes that a document makes, or made."""

    applied: bool
    changes: list[SettingChange]
    token: str  # equal for equal changes of equal settings


class ExportFormat(Schema):
    """The format."""

    format: Literal["json", "xml"] = "json"


@router.get(
    "/settings",
    response={200: StoredSettings, **REFUSED},
    summary="The address settings",
)
def list_settings(request: HttpRequest) -> dict[str, Any]:
    """All patterns with their settings."""
    require(request, VIEW)
    return {"settings": [setting_document(one) for one in AddressSetting.objects.all()]}


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
    response={200: SettingChanges, **REFUSED},
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


@router.get(
    "/settings/{queue:match}",
    response={200: StoredSetting, **REFUSED},
    summary="The settings of a pattern",
)
def read_setting(
    request: HttpRequest, match: Path[str], response: HttpResponse
) -> dict[str, Any]:
    """The setting of one pattern, with the ``ETag`` for ``If-Match``. A pattern is
    written as queue names are: ``#`` is ``~23``.
    """
    require(request, VIEW)
    found = AddressSetting.objects.filter(match=match).first()
    if found is None:
        raise Http404(f"setting {match}")
    response.headers["ETag"] = f'"{edits.version(found)}"'
    return setting_document(found)


@router.put(
    "/settings/{queue:match}",
    response={200: SavedSetting, **REFUSED},
    summary="Save the settings of a pattern",
)
def define_setting(
    request: HttpRequest, match: Path[str], said: SettingValues, response: HttpResponse
) -> dict[str, Any]:
    """Replaces the setting; used from the next message on. With ``If-Match`` only if it
    is unchanged since it was read; with ``If-None-Match: *`` only if it does not exist.
    """
    require(request, CHANGE_)
    require(request, ADD)
    with warned.warned(request) as warnings:
        setting, _ = edits.define(match, said.values, expected=expected_by(request))
    response.headers["ETag"] = f'"{edits.version(setting)}"'
    return setting_document(setting) | {"warnings": warnings}


@router.patch(
    "/settings/{queue:match}",
    response={200: SavedSetting, **REFUSED},
    summary="Change the settings of a pattern",
)
def change_setting(
    request: HttpRequest, match: Path[str], said: SettingValues, response: HttpResponse
) -> dict[str, Any]:
    """Changes some fields of a setting that exists; null undefines one. ``If-Match`` as
    for a definition.
    """
    require(request, CHANGE_)
    with warned.warned(request) as warnings, transaction.atomic():
        found = AddressSetting.objects.select_for_update().filter(match=match).first()
        if found is None:
            raise Http404(f"setting {match}")
        values = defined(found) | said.values
        setting, _ = edits.define(match, values, expected=expected_by(request))
    response.headers["ETag"] = f'"{edits.version(setting)}"'
    return setting_document(setting) | {"warnings": warnings}


@router.delete(
    "/settings/{queue:match}",
    response={200: SavedSetting, **REFUSED},
    summary="Remove the settings of a pattern",
)
def remove_setting(request: HttpRequest, match: Path[str]) -> dict[str, Any]:
    """Removes the setting and returns its last value. Less specific settings decide
    then. ``If-Match`` as for a change.
    """
    require(request, DELETE)
    with warned.warned(request) as warnings:
        removed = edits.remove(match, expected=expected_by(request))
    if removed is None:
        raise Http404(f"setting {match}")
    return setting_document(removed) | {"warnings": warnings}


def expected_by(request: HttpRequest) -> str | None:
    """The version that a request requires: empty for a new setting, None for any."""
    if request.headers.get("If-None-Match", "").strip() == "*":
        return ""
    given = request.headers.get("If-Match")
    if given is None or given.strip() == "*":
        return None
    found = ETAG.match(given.strip())
    return found[1] if found else "no version"


def setting_document(one: AddressSetting) -> dict[str, Any]:
    return {"match": one.match, "values": defined(one)}


def changes_document(
    request: HttpRequest, found: ImportPreview, *, applied: bool
) -> dict[str, Any]:
    return {
        "applied": applied,
        "changes": found.changes,
        "token": found.token,
        "warnings": warned.visible_warnings(request, found.warnings),
    }
