"""Import messages from a file to a queue."""

from __future__ import annotations

from typing import Any, BinaryIO, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_http_methods

from broker.acts.declaring import name_in_journal
from broker.errors import queues as of_queues
from broker.formats.quantities import write_count, write_size
from broker.models import Act, Queue
from broker.security import audit, authorities
from console.messages import importing
from console.runtime.request_size import most

REFUSALS = (
    *(of_queues.MessageTooBigForQueue, of_queues.PutInhibited, of_queues.QueueFull),
    of_queues.NotAuthorized,
)


class ImportForm(forms.Form):
    """A file, and where its messages go; without ``does``, it is only checked."""

    file = forms.FileField(
        error_messages={
            "required": gettext_lazy("Choose a file."),
            "empty": gettext_lazy("The file is empty."),
        },
    )
    as_addressed = forms.BooleanField(required=False)
    does = forms.BooleanField(required=False)


@require_http_methods(["GET", "HEAD", "POST"])
@permission_required("broker.view_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def import_messages(request: HttpRequest, name: str) -> HttpResponse:
    """Check the file that was sent, and put its messages if that is ordered."""
    authorities.require(request.user, "inquire", name)
    queue = get_object_or_404(Queue.objects.select_related("address"), name=name)
    authorities.require(request.user, "put", queue.address.name)
    is_sent = request.method == "POST"
    form = ImportForm(*((request.POST, request.FILES) if is_sent else ()))
    context: dict[str, Any] = {
        "queue": queue,
        "form": form,
        "limit": write_size(most(), exact=True),
    }
    if form.is_valid():
        try:
            found = take_in(request, queue, form)
        except REFUSALS as error:
            form.add_error(None, str(error))
        else:
            if form.cleaned_data["does"] and found.messages and not found.bad:
                n = found.messages
                words = ngettext(
                    "%(n)s message imported.", "%(n)s messages imported.", n
                )
                messages.success(request, words % {"n": write_count(n)})
                return redirect("console:queue", name=name)
            context["found"] = found
    status = 422 if form.errors else 200
    return render(request, "console/messages/send/import.html", context, status=status)


@transaction.atomic
def take_in(
    request: HttpRequest, queue: Queue, form: ImportForm
) -> importing.CheckedFile:
    """Check the file; put all its messages if so ordered and no line is bad.

    Raises:
        BrokerError: one of ``REFUSALS``; nothing is put.
    """
    said = form.cleaned_data
    file = cast(BinaryIO, said["file"].file)
    to = None if said["as_addressed"] else queue.address.name
    found = importing.check_file(file, to, request.user)
    if said["does"] and not found.bad and found.messages:
        file.seek(0)
        lines = importing.read(file, to, request.user)
        importing.put(lines, name_in_journal(request.user))
        detail = {"messages": found.messages, "addresses": found.addresses}
        audit.record(Act.SEND, queue, by=request.user, detail=detail)
    return found
