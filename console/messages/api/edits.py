"""One message, edited: its copy is sent at once."""

from __future__ import annotations

from typing import Any, Literal

from django.http import Http404, HttpRequest
from ninja import Path, Router
from ninja.errors import ValidationError
from pydantic import Field, JsonValue

from broker.formats.patches import Subject
from broker.formats.patches.documents import read_patch
from broker.operations import Edit
from console.edges import permissions
from console.edges.numbers import numbered
from console.edges.rest.numbers import Numbered
from console.edges.rest.problems import NO_NUL, REFUSED, require
from console.edges.rest.requests import RequestBody, read_json
from console.messages import single_edit
from console.messages.api.bodies import MessageToPut, bytes_of, wrong
from console.messages.search_form import BROWSE

router = Router(tags=["repairs"])


class MessageEdit(RequestBody):
    """The changes: a whole new body, a patch, or a new body and a patch of headers."""

    # where the message is; empty: on the first queue that it waits on
    queue: str = Field(default="", max_length=255, pattern=NO_NUL)
    body: JsonValue = None  # the new body; null: as it is, or as the patch says
    encoding: Literal["text", "base64", "json"] = "text"  # how the body is encoded
    patch: dict[str, Any] | None = None  # the same as of a plan
    reason: str = Field(default="", max_length=500, pattern=NO_NUL)


class EditedCopy(Numbered):
    """The copy that was sent. Its original is an ended message."""

    operation_id: int  # the operation that sent it, and that can be undone
    copied_from: int


@router.post(
    "/messages/{int:message_id}/edit",
    response={200: EditedCopy, **REFUSED},
    summary="Send an edited copy of a message",
)
def edit_message(
    request: HttpRequest, message_id: Path[int], wanted: MessageEdit
) -> dict[str, Any]:
    """The copy of a dead letter goes to the queue where the letter died, or through its
    link; that of a waiting message replaces it on its queue. What is not changed is
    sent byte for byte. Needs the permission and the authority to browse, and the
    authorities of a resubmit or a move. 409 ``not-repaired`` has the reason why nothing
    was sent.
    """
    require(request, permissions.CHANGE)
    require(request, BROWSE)
    if wanted.body is None and wanted.patch is None:
        why = "Give a body, a patch, or both."
        raise ValidationError([{"loc": ["body", "wanted", "patch"], "msg": why}])
    patch = None if wanted.patch is None else read_patch(read_json(request)["patch"])
    found = single_edit.editable(request.user, message_id, wanted.queue)
    if found is None:
        raise Http404(f"message {message_id}")
    body = None if wanted.body is None else new_body(wanted, found.subject)
    changes = found.repair(patch, body)
    sent = single_edit.send(
        request.user,
        found.message_id,
        found.queue,
        Edit(patch.headers if patch else (), changes.body),
        reason=wanted.reason.strip(),
        through=found.through,
    )
    (told,) = numbered([{"message_id": sent.message_id}])
    return told | {"operation_id": sent.operation_id, "copied_from": found.message_id}


def new_body(wanted: MessageEdit, subject: Subject) -> bytes:
    """The body as bytes, by the rules of a put; a text in the character set of the body
    that it replaces."""
    where = ["wanted", "body"]
    put = MessageToPut(body=wanted.body, encoding=wanted.encoding)
    body = bytes_of(put, where)
    if wanted.encoding == "base64":
        return body
    try:
        return subject.written(body.decode())
    except ValueError as error:
        raise wrong(
            where, f"It cannot be written as the message is: {error}."
        ) from None
