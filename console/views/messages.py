"""One message: where it is, what happened to it, what is in it."""

from __future__ import annotations

import json

from django.contrib.auth.decorators import permission_required
from django.db.models.functions import Substr
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from broker.models import Message
from broker.triage import NEWEST
from console import viewers
from console.stories import story_of

BROKERS_OWN = ("_AMQ_", "_BRK_")  # how the names of its properties begin


@require_safe
@permission_required("broker.view_queue", raise_exception=True)
def message(request: HttpRequest, message_id: int) -> HttpResponse:
    """What there is to know of a message; its body, for those who may read bodies."""
    story = story_of(message_id) if message_id <= NEWEST else None
    if story is None:
        raise Http404(f"message {message_id}")
    own, others = properties_of(story.message)
    context = {
        "story": story,
        "own_properties": own,
        "properties": others,
        "body": None,
    }
    if story.message and request.user.has_perm("broker.browse_queue"):
        context["body"] = body_of(message_id, story.size, story.message.content_type)
    return render(request, "console/messages/message.html", context)


@require_safe
@permission_required("broker.browse_queue", raise_exception=True)
@cache_control(private=True, no_store=True)
def body(request: HttpRequest, message_id: int) -> HttpResponse:
    """The bytes of a body as a file, which no browser takes for anything else."""
    found = get_object_or_404(Message.objects.only("body"), pk=message_id)
    name = f'attachment; filename="message-{message_id}.bin"'
    return HttpResponse(
        bytes(found.body),
        content_type="application/octet-stream",
        headers={
            "Content-Disposition": name,
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "X-Content-Type-Options": "nosniff",
        },
    )


def body_of(message_id: int, size: int, content_type: str) -> viewers.Shown:
    """As much of a body as is shown, as text."""
    start = Substr("body", 1, viewers.LAID_OUT)
    (head,) = Message.objects.filter(pk=message_id).values_list(start)[0]
    return viewers.show(bytes(head), size, content_type)


Pairs = list[tuple[str, str]]


def properties_of(found: Message | None) -> tuple[Pairs, Pairs]:
    """The broker's own properties, and those of the application."""
    own: Pairs = []
    others: Pairs = []
    for name, value in sorted(found.properties.items() if found else ()):
        text = (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        )
        (own if name.startswith(BROKERS_OWN) else others).append((name, text))
    return own, others
