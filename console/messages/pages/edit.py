"""Repair of one message: edit, preview as a difference, send."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods

from broker import errors, operations
from broker.errors.operations import NothingChosen
from broker.errors.patches import NotRepaired
from broker.errors.redaction import MaskedMessage
from broker.formats import patches
from broker.formats.patches import Patch, Subject
from broker.formats.patches.documents import Whole
from broker.operations import Edit
from broker.security import authorities
from console.bodies.text_diff import MessageDifference, difference
from console.edges import masking, permissions
from console.layout import navigation
from console.messages import repair_form, single_edit
from console.messages.detail import Story
from console.messages.pages.detail import known
from console.messages.repair_form import EditForm
from console.messages.rights import require

TOLD = (errors.NoSuchQueue, errors.NotResubmittable, NothingChosen, NotRepaired)


@dataclass(frozen=True, slots=True)
class Looked:
    """The preview of an edit."""

    difference: MessageDifference
    fault: str  # why the body does not match its declared type
    seal: str


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required(permissions.CHANGE, raise_exception=True)
@permission_required("broker.browse_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def edit(request: HttpRequest, message_id: int) -> HttpResponse:
    """Edit a message on its queue; preview the differences; send it."""
    story = known(message_id)
    require(request, "browse", story)
    said = request.POST if request.method == "POST" else request.GET
    here = single_edit.place_of(story, said.get("on", ""))
    subject = operations.subjects_of([message_id]).get(message_id)
    page: dict[str, Any] = {"story": story, "here": here}
    if here is None or subject is None:
        return render_edit(request, page, status=409)
    authorities.require(request.user, "browse", here.road.queue)
    page["why"] = said.get("why", "").strip()
    if is_veiled(request, message_id, page["why"]):
        return render(request, "console/messages/repairs/masked.html", page)
    page["through"] = single_edit.link_through(request.user, here, subject)
    sheet = repair_form.sheet_of(subject)
    form = EditForm(request.POST if request.method == "POST" else None, sheet=sheet)
    page |= {"sheet": sheet, "form": form}
    return typed(request, page, form) if form.is_bound else render_edit(request, page)


def is_veiled(request: HttpRequest, message_id: int, why: str) -> bool:
    """Whether parts are masked that the user may see with a reason, and none is given.

    Raises:
        MaskedMessage: the user may not unmask it, and so cannot repair it.
    """
    veil = masking.veil_for(request.user, message_id, why)
    if veil and not veil.may_lift:
        raise MaskedMessage(veil.names)
    return bool(veil)


def typed(request: HttpRequest, page: dict[str, Any], form: EditForm) -> HttpResponse:
    """Preview the changes; send them after the preview."""
    if not form.is_valid():
        return render_edit(request, page, status=422)
    message_id, here = page["story"].message_id, page["here"]
    looked = look(form.sheet.subject, form.cleaned_data["edit"])
    if "send" not in request.POST or form.cleaned_data["seen"] != looked.seal:
        return render_edit(request, page | {"looked": looked})
    try:
        sent = single_edit.send(
            request.user,
            message_id,
            here.road.queue,
            form.cleaned_data["edit"],
            reason=form.cleaned_data["reason"],
            through=page["through"],
        )
    except TOLD as error:
        form.add_error(None, str(error))
        return render_edit(request, page, status=409)
    words = f"Message {page['story'].number} was repaired, and its copy was sent."
    messages.success(request, words)
    return redirect("console:message", sent.message_id)


def look(subject: Subject, wanted: Edit) -> Looked:
    """The preview of an edit."""
    body = None if wanted.body is None else Whole(wanted.body)
    repair = patches.apply(Patch(tuple(wanted.headers), body), subject)
    after = repair_form.repaired(subject, repair)
    return Looked(
        difference(subject, after),
        repair_form.fault_of(after),
        repair_form.seal_of(wanted),
    )


def render_edit(
    request: HttpRequest, page: dict[str, Any], status: int = 200
) -> HttpResponse:
    story: Story = page["story"]
    if story.letter is not None:
        navigation.counts_as(request, "console:dead_letters")
    return render(request, "console/messages/repairs/edit.html", page, status=status)
