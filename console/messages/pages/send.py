"""Send a message to a queue."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods

from broker import errors, operations
from broker.client import put_many
from broker.errors import queues as of_queues
from broker.errors.redaction import MaskedMessage
from broker.models import Act, Message, Queue
from broker.security import audit, authorities
from broker.sql import database_now
from console.edges import masking
from console.layout.pagination import LARGEST
from console.messages import repair_form, send_form
from console.messages.pages.detail import known
from console.messages.rights import require
from console.messages.send_form import SendForm

REFUSALS = (
    *(errors.InvalidMessage, errors.MessageTooLarge, of_queues.MessageTooBigForQueue),
    *(of_queues.PutInhibited, of_queues.QueueFull),
)
DROPPED = gettext_noop(
    "No queue took the message, so it was not sent. The queue takes only messages that"
    " match its selector."
)


class Dropped(Exception):
    """No queue took the message; the put is rolled back."""


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("broker.view_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def send(request: HttpRequest, name: str) -> HttpResponse:
    """Show the form, or one filled in like another message; on POST send a message."""
    authorities.require(request.user, "inquire", name)
    queue = get_object_or_404(Queue.objects.select_related("address"), name=name)
    authorities.require(request.user, "put", queue.address.name)
    context: dict[str, Any] = {"queue": queue, "types": send_form.TYPES}
    if request.method != "POST":
        return render_send(
            request, context, form_for(request, request.GET.get("like", ""))
        )
    form = SendForm(request.POST, request.FILES)
    if not form.is_valid():
        return render_send(request, context, form, status=422)
    try:
        message_id = sent(request, queue, form)
    except Dropped:
        form.add_error(None, gettext(DROPPED))
    except REFUSALS as error:
        form.add_error(None, str(error))
    else:
        words = format_html(
            gettext(
                'The message was sent to {queue}. <a href="{link}">Send another</a>'
            ),
            queue=name,
            link=reverse("console:send", args=[name]),
        )
        messages.success(request, words)
        return redirect("console:message", message_id)
    return render_send(request, context, form, status=409)


@transaction.atomic
def sent(request: HttpRequest, queue: Queue, form: SendForm) -> int:
    """Put the message, with its audit record; return its number.

    Raises:
        Dropped: no queue took it.
    """
    actor = authorities.name_of(request.user)
    address = queue.address.name
    message = form.message(address, producer=actor, now=database_now())
    (receipt,) = put_many([message], actor=actor)
    if not receipt.queue_ids:
        raise Dropped
    detail = {
        "message": receipt.message_id,
        "address": address,
        "bytes": len(message.body),
    }
    audit.record(Act.SEND, queue, by=request.user, detail=detail)
    return receipt.message_id


def form_for(request: HttpRequest, like: str) -> SendForm:
    """An empty form, or one like the message of this number.

    Raises:
        Http404: there is no such message.
        NotAuthorized: the user may not read it.
        MaskedMessage: some of it is masked for the user.
    """
    if not (like.isdecimal() and int(like) <= LARGEST):
        return SendForm()
    story = known(int(like))
    require(request, "inquire", story)
    if not request.user.has_perm("broker.browse_queue") or not story.message:
        return SendForm()
    require(request, "browse", story)
    if veil := masking.veil_for(request.user, story.message_id):
        raise MaskedMessage(veil.names)
    subject = operations.subjects_of([story.message_id])[story.message_id]
    row = Message.objects.only("priority", "durable").get(pk=story.message_id)
    sheet = repair_form.sheet_of(subject)
    form = send_form.like(sheet, priority=row.priority, durable=row.durable)
    if sheet.why_no_text:
        words = gettext(
            "Its body is not copied: %(why)s. Download it, and send it as a file."
        )
        messages.info(request, words % {"why": sheet.why_no_text})
    return form


def render_send(
    request: HttpRequest, context: dict[str, Any], form: SendForm, *, status: int = 200
) -> HttpResponse:
    page = context | {"form": form}
    return render(request, "console/messages/send/send.html", page, status=status)
