"""Import and export of bridges as Open MQ's configuration documents."""

from __future__ import annotations

from typing import Any, Literal

from django.http import HttpRequest
from ninja import Path, Router, Schema
from pydantic import Field

from broker.bridges.config import bridge_import
from broker.bridges.config.bridge_import import BridgeImportPreview
from broker.bridges.config.documents import stored
from broker.bridges.config.jmsbridge_writing import write
from console.bridges.documents import LOOK, TAKE_OVER, bridge_of, changes_document
from console.edges.rest import warned
from console.edges.rest.differences import Difference
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.requests import RequestBody
from console.edges.rest.warned import Warned

router = Router(tags=["bridges"])


class BridgeDocument(RequestBody):
    """The document of one bridge: the XML of Open MQ's ``jmsbridge``."""

    document: str = Field(max_length=2**20, pattern=NO_NUL)
    # replace also removes parts that the document lacks
    mode: Literal["merge", "replace"] = "merge"
    apply: bool = False  # false: only report the changes
    # the token of the preview that the user has confirmed; if the changes differ by
    # now, nothing is applied
    token: str | None = Field(default=None, max_length=64)


class ExportedBridge(Schema):
    """A document that can be imported again; without passwords."""

    document: str


class PartChange(Schema):
    """The change of one part of a bridge."""

    kind: str  # bridge, link, connection factory, destination, dead message queue
    name: str
    deed: str  # added, changed, removed, unchanged
    differences: list[Difference]


class OpenQuestion(Schema):
    """A value that the document lacks and the user must supply."""

    where: str
    what: str


class ImportedBridge(Warned):
    """The changes that a document makes, or made."""

    bridge: str
    applied: bool
    changes: list[PartChange]
    left_open: list[OpenQuestion]
    token: str  # equal for equal changes of the same bridge


@router.get(
    "/bridges/{queue:bridge}/document",
    response={200: ExportedBridge, **REFUSED},
    summary="A bridge as a document",
)
def export_bridge(request: HttpRequest, bridge: Path[str]) -> dict[str, Any]:
    """The bridge as a document for Open MQ or for import. Without passwords."""
    for permission in LOOK:
        require(request, permission)
    return {"document": write(stored(bridge_of(bridge)))}


@router.post(
    "/bridge-document",
    response={200: ImportedBridge, **REFUSED},
    summary="Import a bridge",
)
def import_bridge(request: HttpRequest, sent: BridgeDocument) -> dict[str, Any]:
    """Reports what would change; with ``apply``, makes all changes or none."""
    for permission in TAKE_OVER:
        require(request, permission)
    document = bridge_import.read(sent.document)
    if not sent.apply:
        found = bridge_import.preview(document, sent.mode)
        return answered(request, found, applied=False)
    found = bridge_import.apply(document, sent.mode, token=sent.token)
    return answered(request, found, applied=True)


def answered(
    request: HttpRequest, found: BridgeImportPreview, *, applied: bool
) -> dict[str, Any]:
    warnings = warned.visible_warnings(request, found.warnings)
    return changes_document(found, applied=applied) | {"warnings": warnings}
