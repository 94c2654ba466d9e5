"""Repair of one message: edit, preview as a difference, send."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods

from broker import acts, errors
from broker.acts.messages import EditMessage, WaitingMessage, find_waiting
from broker.errors.operations import NothingChosen
from broker.errors.patches import InvalidPatch, NotRepaired
from broker.formats import patches
from broker.formats.patches import Patch, Subject
from broker.formats.patches.documents import Whole
from broker.operations import Edit
from console.bodies.text_diff import MessageDifference, difference
from console.edges import denials, masking
from console.layout import navigation
from console.messages import repair_form
from console.messages.detail import Story
from console.messages.pages.detail import known
from console.messages.repair_form import EditForm

TOLD = (
    *(errors.NoSuchQueue, errors.NotResubmittable, NothingChosen),
    *(InvalidPatch, NotRepaired),
)


@dataclass(frozen=True, slots=True)
class Looked:
    """The preview of an edit."""

    difference: MessageDifference
    fault: str  # why the body does not match its declared type
    seal: str


@require_http_methods(["GET", "HEAD", "POST"])
@cache_control(private=True, no_store=True)
def edit(request: HttpRequest, message_id: int) -> HttpResponse:
    """Edit a message on its queue; preview the differences; send it."""
    said = request.POST if request.method == "POST" else request.GET
    queue, reason = said.get("on", ""), said.get("reason", "")
    acts.require(request.user, EditMessage(message_id, queue, reason=reason))
    story = known(message_id)
    page: dict[str, Any] = {"story": story}
    try:
        here = find_waiting(request.user, message_id, queue)
    except NothingChosen:
        return render_edit(request, page, status=409)
    if here.message_id != message_id:  # this copy has ended
        return render_edit(request, page, status=409)
    page |= {"here": here, "why": said.get("why", "").strip()}
    if masking.veil_for(request.user, message_id, page["why"]):
        return render(request, "console/messages/repairs/masked.html", page)
    sheet = repair_form.sheet_of(here.subject)
    form = EditForm(request.POST if request.method == "POST" else None, sheet=sheet)
    page |= {"sheet": sheet, "form": form}
    return typed(request, page, form) if form.is_bound else render_edit(request, page)


def typed(request: HttpRequest, page: dict[str, Any], form: EditForm) -> HttpResponse:
    """Preview the changes; send them after the preview."""
    if not form.is_valid():
        return render_edit(request, page, status=422)
    edit = form.cleaned_data["edit"]
    looked = look(form.sheet.subject, edit)
    if "send" not in request.POST or form.cleaned_data["seen"] != looked.seal:
        return render_edit(request, page | {"looked": looked})
    try:
        sent = acts.act(request.user, order_of(page["here"], form))
    except TOLD as error:
        denials.note(request, error)
        form.add_error(None, str(error))
        return render_edit(request, page, status=409)
    words = gettext("Message %(number)s was repaired, and its copy was sent.")
    messages.success(request, words % {"number": page["story"].number})
    return redirect("console:message", sent.message_id)


def order_of(here: WaitingMessage, form: EditForm) -> EditMessage:
    edit: Edit = form.cleaned_data["edit"]
    return EditMessage(
        here.message_id,
        here.queue,
        body=None if edit.body is None else b64encode(edit.body).decode(),
        encoding="base64",
        patch=patches.written(Patch(tuple(edit.headers))) if edit.headers else None,
        reason=form.cleaned_data["reason"],
    )


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
    page = page | {"continues_as": links_of(story)}
    return render(request, "console/messages/repairs/edit.html", page, status=status)


def links_of(story: Story) -> SafeString:
    """Links to the newest copies of a message."""
    ids = [now.life.message_id for now in story.newest]
    links = [(reverse("console:message", args=[one]), story.names[one]) for one in ids]
    return format_html_join(", ", '<a href="{}">{}</a>', links)
