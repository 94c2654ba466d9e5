"""``json-patch``: change a JSON body by a patch, as in repairs.

    patch = [{"op": "replace", "path": "/currency", "value": "EUR"}]
    content-type = application/vnd.orders+json

``patch`` is a JSON Patch, or a complete patch of ``broker.formats.patches``, which can
also merge and change headers. ``content-type`` is the new content type; without it, the
old one stays.

Source:
    RFC 6902, "JavaScript Object Notation (JSON) Patch".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from broker.bridges.messages import changed
from broker.bridges.transformers.registry import Context, transforms
from broker.errors.patches import InvalidPatch
from broker.formats import lossless_json, patches
from broker.formats.mq.coding import coding_in
from broker.formats.patches import (
    FIELDS,
    LARGEST,
    Misfit,
    Patch,
    Repair,
    Subject,
    Unfit,
)
from broker.formats.patches.documents import LONGEST, read_patch
from broker.formats.patches.headers import PROPERTY
from broker.formats.quantities import write_size
from broker.queueing import copy_edits
from broker.queueing.store import NewMessage

PATCH, CONTENT_TYPE = "patch", "content-type"
KEPT = 64  # most cached patches
SENTENCES = {
    Misfit.GUARD_FAILED: "A test operation of the patch failed for this message.",
    Misfit.NO_SUCH_PATH: "The message has no value at a path of the patch.",
    Misfit.NOT_JSON: "The body is not JSON, or an object in it has a duplicate key.",
    Misfit.TOO_LARGE: f"The body is, or would be, above {write_size(LARGEST)}.",
    Misfit.LOCKED: "The patch would change fields that IBM MQ headers repeat.",
}


def check(properties: Mapping[str, str]) -> None:
    if others := sorted(properties.keys() - {PATCH, CONTENT_TYPE}):
        raise ValueError(
            f"There is no property {others[0][:64]!r}. Write patch and content-type."
        )
    if PATCH not in properties:
        raise ValueError(
            "The property patch is missing. Write a JSON Patch, such as"
            ' [{"op": "remove", "path": "/secret"}].'
        )
    if properties.get(CONTENT_TYPE, "x").strip() == "":
        raise ValueError("The property content-type is empty. Leave it out.")
    read(properties[PATCH])


@lru_cache(KEPT)
def read(text: str) -> Patch:
    """Read a patch.

    Raises:
        ValueError: the text is no patch; with the reason.
    """
    try:
        if text.lstrip().startswith("["):
            return read_patch({"body": {"patch": operations(text)}})
        return patches.parse(text)
    except InvalidPatch as error:
        raise ValueError(str(error)) from None


def operations(text: str) -> Any:
    if len(text) > LONGEST:
        raise InvalidPatch(f"it is longer than {LONGEST:,} characters")
    try:
        return lossless_json.loads(text)
    except ValueError as error:
        raise InvalidPatch(f"it is not JSON: {error}") from None


@transforms("json-patch", check=check, label="JSON to JSON by a patch")
def json_patch(message: NewMessage, context: Context) -> NewMessage:
    """Change a JSON body by the patch in the property ``patch``.

    A message that the patch would not change stays as it is. If the patch cannot be
    applied, the transformation fails.
    """
    patch = read(context.properties[PATCH])
    fields: dict[str, Any] = {}
    try:
        repair = patches.apply(patch, subject(message, patch))
    except Unfit as unfit:
        if unfit.misfit is not Misfit.UNCHANGED:
            raise ValueError(sentence(unfit)) from None
    else:
        fields = fields_of(repair, message)
    if CONTENT_TYPE in context.properties:
        fields["content_type"] = context.properties[CONTENT_TYPE]
    return changed(message, **fields)


def sentence(unfit: Unfit) -> str:
    """Why a patch does not fit, without values of the message; the path is that of the
    patch."""
    if unfit.path:
        return f"The message has no value at the path {unfit.path} of the patch."
    return SENTENCES[unfit.misfit]


def subject(message: NewMessage, patch: Patch) -> Subject:
    """A message as the document to patch, with the parts that the patch needs."""
    columns = {name: getattr(message, column) for name, column in FIELDS.items()}
    said = {name: value for name, value in columns.items() if value is not None}
    if patch.headers:
        properties = lossless_json.loads(json.dumps(message.properties))
        said |= {PROPERTY + name: value for name, value in properties.items()}
    return Subject(
        said,
        message.body if len(message.body) <= LARGEST else None,
        is_locked=message.headers is not None,
        coding=coding_in(message),
    )


def fields_of(repair: Repair, message: NewMessage) -> dict[str, Any]:
    """The changed fields of a message."""
    fields: dict[str, Any] = {**repair.columns}
    if repair.body is not None:
        fields["body"] = repair.body
    if repair.properties or repair.properties_gone:
        kept = {
            name: value
            for name, value in message.properties.items()
            if name not in repair.properties_gone
        }
        fields["properties"] = kept | copy_edits.plain(repair.properties)
    return fields
